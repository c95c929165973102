/**
 * The words that exported names and names of files are made of, beside those of the glossary: plain
 * English, TypeScript's and Effect's. Add a new word here if a stranger would guess it; a word that
 * has to be explained belongs in `docs/glossary.md`.
 */
export const known: ReadonlyArray<string> = `
  about accepted acquire action actions active activity add address adjacency adjust adjustment
  admission admit advance after ahead aligned alignment all allowed alone ambient amount answer any
  app append applied apply approval approvals approver approvers argument arranged arrangement
  arranging array arrays arrival arrivals ask asked assemble at audience audit auth authenticator
  authorization authorize autosave available back bad balance banner bar bare base batch beat before
  begin behind below between beyond bill bind bindings block board body bookmark books boolean bound
  bounded bounds box bracketed broad browser bucket build builder builtin busy by bytes cache
  calendar calendars call callback caller can cancel cancelation canonical canvas cap carried case
  catch caught cause certificates change channel character characters charge check checkout children
  choice cidr clause clauses clear client clipboard clock close closed closing code collapse
  collapsed collector colors coloured column columns combination command comment compare compile
  complete completion compose compressed computable compute computed concurrency condition config
  confined conflict connect connectable connection console constant content context control controls
  cookie copied copy correlated cost count covers crash create credentials credit cron cross css csv
  curl current cursor custom cycle cycles damaged dashboard data database day deadline dearest
  decide decision declaration deepest default define delay delegation delegations deliver delivering
  dense deprecated depth derived describe description destination detail dev dialog diamond
  difference digest direct direction discrepancy disk distinct distributed docs doctor document
  domain done down drawing drawn due duplicated durably duration dynamic each earlier edit editable
  edited editing editor effect element email empty encode encoded end endpoint engine english ensure
  environment equality error estimate evaluate evaluated evaluation evaluator event every everywhere
  example exceeded exception exchange executable execute execution executor exit expected expired
  explain exported exposure expression expressions extend facts fail failure fair far fault fetch
  field file fill filler filter find finish first fits fixed flag flags fold folded folder follow
  followed follower followers for forbidden foreign forget form format found fragment frame frames
  free freeze from frozen full function gate gather give given global go goes gone good graph growth
  guarded half halted hand handle hangs has hash head header health height held hello help highest
  hint history hmac holder hook host http icon icons id identifier idle if implied import imported
  in index input inputs insert inspector insufficient int4s int8s integer internal invalid inverse
  is issue item iterations jitter job join joining journey js json keep keeper kept keyword kind
  known label large last late latest launch layer layout lazy least length level levels lex lexed
  limit limiter line link list listener listening live llm load local location lock log logger
  longer longest look lookup loop loopback loose lost mail main make many map mark mask max may
  meaning media meets megabytes memory merge message met metadata meter method metrics micro
  middleware migrate migration millis millrace minute mismatch missed missing mock mode model module
  monotonic most mount move moved name narrowed nearest needed needs nesting network never new next
  no none not note nothing notification notifier notifying now number object of offer offset
  oldest on once one only open openapi option optional options or order origin original other
  otherwise out outbound outbox outcome outdated outgoing outline output outside
  overfetch overhang overlap
  overlay own packages page paginate palette panel panels parameter parameters params parse part
  passes paste pasted path pause payload payment peer people per permit permits person pglite
  picture piece pin pins place placement plain plan platform play played policy poll pool ports
  position postgres precondition prefetch prefix prelude prepare presence present preview price
  print prior priority proceed process progress promise prompt props protocol proxy public purpose
  put query queue quick quiet quote rank rate reach reachable reached read reader reading ready real
  reason receive receiver recipients record redeem redeliver redirects reference refusal refuse
  release reminder reminders remote removals remove renamed renewal replace replaced report request
  required requirements requires rerun reruns reseal resend resolve resolver response rest result
  resume retry return revoke right role rooms root roots rotate route router row rows rule runtime
  same sandbox sandboxes save say scan schedule scheduler schema scope screen script scripts seal
  search seconds secret secure seed seen selected selection send sent sentence separate separator
  sequence serve server services session set settings several shape share sheet short shortened
  shortest show shown shutting sign signal signature simple single site size sleep slice slots
  snapshot so socket sockets some sort source span spans sparse spelled sqlite stale standard
  standing start startup state statement status steps storable storage stream strict styles sub
  subject submission success suggestion sum summary supervisor surroundings suspect suspension sweep
  sweeping swept switch sync synced system tab table tabs tagged taken target task tasks telemetry
  tell template terminal test testing text than theme thread thumbnail ticket ticks tidied tidy time
  timeline timeout timer timestamp timezone title tls to token tokens told tolerance tolerated too
  trace transaction transactional transform transport trial tries turn turns typed unauthorized
  unavailable uncapped unfinished unit unknown unless unnest unopened unresolvable unseen
  unsupported unused up update upstream url usage use user usual validate validation value variable
  vault version via view viewer viewport virtual wakeups wanted warning watch watchdog watched way
  web webhook well what while whole width widths window wire with withheld within without work
  worker write writer written wrong xml zoom
`
  .trim()
  .split(/\s+/)
