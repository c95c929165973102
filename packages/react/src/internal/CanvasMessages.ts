/**
 * What the canvas and its palette say while a graph is edited.
 */

const listed = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`

const edgeCount = (count: number): string => (count === 1 ? "1 edge" : `${count} edges`)

/** The texts in English. */
export const canvasMessages = {
  nodeRole: "node",
  edgeRole: "edge",
  editNodeHint:
    "Press Enter to select this node, arrow keys to move it, F2 to rename it, Delete to remove it.",
  farHint: "Zoom in to reach its ports by keyboard, or use the list of nodes.",
  editEdgeHint: "Press Enter to select this edge, Delete to remove it.",
  movedTo: (x: number, y: number) => `Moved to ${x}, ${y}.`,
  problemCount: (count: number) => (count === 1 ? "1 problem" : `${count} problems`),

  addNode: "Add a node",
  addFirstNode: "Add the first node",
  addHint: "Press / or the button to add a node.",
  addAfter: (port: string, label: string) => `Add a node after output ${port} of ${label}`,
  added: (label: string) => `${label} was added.`,
  removed: (nodes: number, edges: number) =>
    nodes === 0
      ? `${edges} ${edges === 1 ? "edge" : "edges"} removed.`
      : `${nodes} ${nodes === 1 ? "node" : "nodes"} removed.`,
  remove: "Remove what is selected",
  duplicate: "Duplicate what is selected",
  rename: "Rename the node",
  disable: "Disable what is selected, or enable it again",
  frame: "Put a frame around what is selected",
  frameName: "Group",
  framed: (count: number) =>
    count === 1 ? "A frame around 1 node" : `A frame around ${count} nodes`,

  loopOf: (count: number) =>
    count === 0
      ? "a loop without nodes"
      : count === 1
        ? "a loop of 1 node"
        : `a loop of ${count} nodes`,
  inLoop: (loop: string) => `in loop ${loop}`,
  emptyLoop: "Drag nodes here: they are executed once for every item.",
  collapsed: (count: number) =>
    count === 1 ? "collapsed, with 1 node" : `collapsed, with ${count} nodes`,
  collapseLoop: (loop: string) => `Collapse loop ${loop}`,
  expandLoop: (loop: string) => `Expand loop ${loop}`,
  addInLoop: (loop: string) => `Add a node in loop ${loop}`,
  loopOfChosen: "Loop in which the selected nodes lie",
  noLoop: "In no loop",
  nested: (count: number, loop: string | undefined) => {
    const nodes = count === 1 ? "1 node" : `${count} nodes`
    const verb = count === 1 ? "lies" : "lie"
    return loop === undefined
      ? `${nodes} now ${verb} in no loop.`
      : `${nodes} now ${verb} in loop ${loop}.`
  },
  edgesGone: (edges: ReadonlyArray<string>) =>
    `${edgeCount(edges.length)} cannot cross its border and went along: ${edges.join("; ")}.`,
  edgeBetween: (from: string, to: string) => `${from} to ${to}`,
  nestRefusals: {
    request: (label: string) => `${label} is a request node and cannot lie in a loop.`,
    depth: (label: string, depth: number) =>
      `${label} would lie in more than ${depth} loops, one in the other.`,
  },
  nameOf: (label: string) => `Name of ${label}`,
  severalAtOnce: "Select several: taps and clicks add to the selection, a drag draws a box",
  arrange: "Move, align and distribute what is selected",
  nudges: {
    left: "Move to the left",
    right: "Move to the right",
    up: "Move up",
    down: "Move down",
  },
  alignments: {
    left: "Align left edges",
    center: "Align centers",
    right: "Align right edges",
    top: "Align top edges",
    middle: "Align middles",
    bottom: "Align bottom edges",
    across: "Distribute from left to right",
    down: "Distribute from top to bottom",
  },

  inputPort: (port: string, label: string) => `Input ${port} of ${label}`,
  outputPort: (port: string, label: string) => `Output ${port} of ${label}`,
  requiredPort: "required",
  moreInputs: (count: number) => (count === 1 ? "1 more input" : `${count} more inputs`),
  fewerInputs: "Fewer inputs",
  joiningFrom: (port: string) => `Joining from ${port}: choose a port, or press Escape.`,
  joined: (from: string, to: string) => `${from} now leads to ${to}.`,
  joiningEnded: "Nothing was joined.",
  joinRefusals: {
    cycle: (source: string, target: string) =>
      `This would make a circle: ${target} already leads to ${source}.`,
    self: (source: string) => `${source} cannot lead to itself.`,
    taken: (port: string) => `Only one edge may lead to ${port}, and there is one.`,
    types: (source: string, target: string) =>
      `What ${source} gives can never be what ${target} takes.`,
    noPort: (port: string) => `There is no port ${port}.`,
    exists: (source: string, target: string) => `${source} already leads to ${target}.`,
    leaves: (_: string, loop: string, outputs: ReadonlyArray<string>) =>
      `Nothing leads out of the loop ${loop}: take its result from ${listed(outputs)} of ${loop}.`,
    innerOnly: (port: string, loop: string, outputs: ReadonlyArray<string>) =>
      `${port} is for the nodes in ${loop}; outside, use ${listed(outputs)}.`,
    outerOnly: (port: string, loop: string, ports: ReadonlyArray<string>) =>
      `${port} is there when ${loop} has ended; in the loop, use ${listed(ports)}.`,
    sides: "An edge leads from an output to an input.",
  },

  copiesAdded: (count: number) =>
    count === 1 ? "1 node was pasted." : `${count} nodes were pasted.`,
  pasteProblems: {
    empty: "There is nothing to paste.",
    notJson: "Only nodes that were copied here can be pasted, and workflows as JSON.",
    foreign: "This is no graph of this editor, so nothing was pasted.",
    tooLarge: (characters: number, limit: number) =>
      `This text has ${characters} characters; ${limit} can be pasted at most.`,
  },

  palette: "Node types",
  searchTypes: "Search node types",
  typesFound: (count: number) => (count === 1 ? "1 node type" : `${count} node types`),
  noTypesFound: "No node type has these words.",
  close: "Close",
  oneRequestOnly: "A workflow has one request node at most.",

  editorOf: (name: string) => `Editor of ${name}`,
  editorParts: "Parts of the editor",
  canvasTab: "Canvas",
  nodesTab: "Nodes",
  undo: "Undo",
  redo: "Redo",
  run: "Run",
  stop: "Stop",
  backToEditing: "Back to editing",
  estimate: (credits: number) => (credits === 1 ? "About 1 credit" : `About ${credits} credits`),
  saveFirst: "The changes could not be saved, so nothing was started.",
  startValues: "Values of the run",
  noStartValues: "The workflow asks for no values.",
  notGiven: "Not given",
  startOrder: "When it is its turn",
  startPriority: "Priority, from -10 to 10",
  startNotBefore: (zone: string) => `Not before (${zone})`,
  startKey: "Concurrency key",
  startKeyHint: "Runs with the same key wait for each other.",
  asJson: (type: string) => `As JSON: ${type}.`,
  notJsonOf: (name: string, type: string) => `${name} has to be JSON of type ${type}.`,

  keys: "Keys",
  useKeys: "Use these keys",
  keyOf: {
    palette: "Add a node",
    fit: "Show the whole graph",
    sheet: "Show the keys",
    undo: "Undo",
    redo: "Redo",
    copy: "Copy",
    cut: "Cut",
    paste: "Paste",
    duplicate: "Duplicate",
    all: "Select everything",
    remove: "Remove what is selected",
    rename: "Rename the node",
    disable: "Disable, or enable again",
    frame: "Put a frame around what is selected",
    move: "Move what is selected; with Shift, farther",
    join: "On a port: begin to join, and on another port, join",
    box: "Select with a box; with a click, add to the selection",
    end: "End joining, or select nothing",
  },
} as const
