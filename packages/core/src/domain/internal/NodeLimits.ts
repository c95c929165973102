/**
 * The bounds of what nodes compute and call: paths, steps, rules, templates, expressions and code.
 *
 * A part of `Limits.ts`, which gives them to everybody else.
 */

/** Characters of a path into a value. */
export const pathLength = 500

/** How deep runs may start each other: a child of the first run is 1 deep. */
export const childDepth = 10

/** Workflows that a workflow calls, with those that these call. */
export const workflowsCalled = 100

/** Bytes of JSON text of their drawings together (4 MiB). */
export const calledBytes = 4_194_304

/** Runs that a node starts in one step, and of whose ends it has not heard. */
export const childrenAtOnce = 50

/** Characters, counted roughly, of items that a loop computes before it stores them (256 KiB). */
export const turnCharacters = 262_144

/** Runs in a row that do not end at once; after them, no more of their graph are computed first. */
export const computedTries = 3

/** Children of a node that are read at a time. */
export const childrenPerPage = 100

/** Items of one loop. */
export const itemsPerLoop = 100_000

/** Bytes of the results that a loop puts out (8 MiB); without more, they are read by pages. */
export const resultsBytes = 8_388_608

/** Failed items that a loop names. */
export const failuresPerLoop = 1_000

/** How often a while loop executes its body, if nobody says so. */
export const defaultIterations = 100

/** How often a while loop executes its body at most. */
export const iterationsPerLoop = 10_000

/** Items of a loop that one child gets. */
export const itemsPerChild = 1_000

/** Steps of one transform node. */
export const stepsPerTransform = 50

/** Characters of a separator of texts. */
export const separatorLength = 100

/** Sums that one of its steps makes. */
export const sumsPerStep = 20

/** Arrays and objects within each other in a template. */
export const templateDepth = 100

/** Expressions of one template. */
export const expressionsPerTemplate = 10_000

/** Characters of JSON text that expressions may put into one result. */
export const templateInsertedLength = 1_048_576

/** Conditions of one rule. */
export const conditionsPerRule = 100

/** Cases of one switch node. */
export const casesPerSwitch = 50

/** Problems that are told of one value of a node. */
export const issuesPerValue = 20

/** Characters of a text that holds expressions (64 KiB). */
export const expressionLength = 65_536

/** Expressions in the literals of one graph. */
export const expressionsPerGraph = 10_000

/**
 * Characters of JSON text that one JavaScript expression reads, or gives, and that expressions may
 * put into the inputs of one node.
 */
export const expressionJsonLength = 1_048_576

/** Milliseconds that one JavaScript expression may take. */
export const expressionMillis = 50

/** Milliseconds that all JavaScript expressions of one node may take together. */
export const expressionsMillis = 500

/** Megabytes of values of the JavaScript expressions of one graph and account. */
export const expressionMegabytes = 16

/** Characters of the code of a node (64 KiB). */
export const codeLength = 65_536

/** Characters of JSON text that the code of a node reads, or gives. */
export const codeJsonLength = 4_194_304

/** Characters of one line that code writes to its console. */
export const codeLogLength = 10_000

/** Milliseconds after which a thread that does not give code up is ended. */
export const codeLateMillis = 1_000

/** Milliseconds after which a thread that does not give an expression up is ended. */
export const expressionLateMillis = 100

/** Graphs whose JavaScript expressions one thread keeps compiled. */
export const sandboxesKept = 16

/** Expressions of one account that wait for a thread; further ones fail. */
export const evaluationsWaiting = 10_000

/** Redirects of one request that a node follows. */
export const redirectsFollowed = 5

/** Characters of a host that a node connects to. */
export const hostLength = 253

/** The highest port of a server. */
export const highestPort = 65_535

/** Characters of the names with which a node signs in to a database. */
export const databaseNameLength = 128

/** Characters of the certificates that a node trusts, as PEM text. */
export const certificatesLength = 65_536

/** Characters of an SQL statement. */
export const statementLength = 65_536

/** Parameters of an SQL statement. */
export const parametersPerQuery = 1_000

/** Rows that an SQL statement may give. */
export const rowsPerQuery = 10_000

/** Characters of JSON or CSV that a node parses. */
export const parsedLength = 4_194_304

/** Characters of XML that a node parses, at once. */
export const xmlLength = 131_072

/** Elements within each other in XML. */
export const xmlDepth = 100

/** Names of elements that XML gives as arrays. */
export const arraysPerXml = 100

/** Rows of CSV, besides its header. */
export const csvRows = 100_000

/** How long one call of a language model may take. */
export const modelSeconds = 300

/** Characters of the name of a language model. */
export const modelNameLength = 200

/** Messages of one question to a language model. */
export const messagesPerPrompt = 1_000

/** Characters of one question to a language model. */
export const promptLength = 1_048_576

/** Tokens of one answer of a language model. */
export const tokensPerAnswer = 131_072

/** Levels of the schema of an answer or a signal. */
export const schemaLevels = 64

/** Steps in which an answer or a signal is compared with its schema. */
export const stepsPerAnswer = 200_000

/** Pages that one node calls. */
export const pagesPerRequest = 100

/** Bytes of those pages together (16 MiB). */
export const pagesBytes = 16_777_216

/** Recipients of one e-mail. */
export const recipientsPerEmail = 50

/** Characters of an address of e-mail, with its name. */
export const emailAddressLength = 320

/** Characters of the subject of an e-mail. */
export const subjectLength = 998

/** Characters of an e-mail as text, and as HTML. */
export const emailLength = 1_048_576
