/**
 * The words that exported names and names of files are made of, beside those of the glossary: plain
 * English, TypeScript's and Effect's. Add a new word here if a stranger would guess it; a word that
 * has to be explained belongs in `docs/glossary.md`.
 */
export const known: ReadonlyArray<string> = `
  about accepted acquire active add address adjacency adjust adjustment admission admit after ahead
  all allowed alone ambient amount answer app applied apply argument ask asked assemble at audit
  auth authenticator authorization available back bad balance banner bare base batch beat before
  begin
  behind below between beyond bill broad
  bindings block board body bookmark books boolean bounded bounds
  bracketed builder builtin busy by bytes cache call caller cancel canonical cap carried case cause
  change characters charge check cidr clause clauses clear client clock closed closing code colors
  coloured columns combination command compare compile complete compose compressed computable
  compute
  computed concurrency
  condition config conflict connect connection constant content context copy count covers create
  credit csv current cursor custom cycles damaged data database day deadline dearest decide
  decision declaration deepest default define delay delivering depth derived describe description
  destination detail dev diamond digest direct discrepancy docs doctor document down drawing drawn
  due durably duration dynamic each effect empty end engine ensure environment equality error
  estimate event everywhere example exceeded exception exchange executable execute execution
  executor exit expected explain exposure expressions extend facts fail failure fair far fault
  fetch field file fill filter find finish first flag flags fold folded folder follow follower
  executor exit expected explain exported exposure expressions extend facts fail failure fair far
  fault
  fetch field file fill filter find finish first flag flags folded folder follow follower
  followers for foreign forget
  form format found frames free freeze from frozen full gate gather give given goes gone good graph
  growth
  halted hand handle has hash head header health held hello help hint holder hook host http id
  identifier implied import imported in index input insert insufficient int4s int8s integer
  internal invalid is
  issue item
  job json keep keeper kept kind known label large last late latest launch layer leftover length
  level limit limiter line list listener listening live load local lock log logger longest look
  lookup
  lost main make many map mark max media memory merge message met metadata meter method micro
  middleware
  migrate migration millis millrace minute mismatch missing mode module monotonic most mount move
  name
  narrowed nearest needed network never new next no not note nothing
  notifier notifying now number object
  of on once one only open openapi optional options or order origin original otherwise out outbound
  outbox outcome outdated outgoing output overfetch overlap overlay own packages page paginate
  parameters
  params parse part path payload payment peer per permit permits pglite place placement plain plan
  platform policy position postgres precondition prefetch prefix prepare price print prior priority
  pool
  proceed progress promise protocol proxy public purpose query queue quick quote rate reached read
  reader ready reason receive receiver record redeliver reference refusal refuse release remote
  renewal
  replaced report request required requirements resend resolve resolver response rest result resume
  retry return revoke rooms rotate route router row rule runtime same save scan schedule scheduler
  schema scope search seconds seed send sent sentence separator sequence serve server services
  session set
  settings
  shape share show shown shutting sign signal signature single size sleep slice slots snapshot so
  some sort source stale standing start startup state statement status storable storage stream sum
  summary supervisor suspect suspension switch system table tagged taken target tasks tell template
  terminal test text thread thumbnail tidy time timeline timeout timer timestamp title to token
  told tolerated too transform transport turns unauthorized unavailable uncapped unfinished unit
  unknown unopened unresolvable unseen unsupported unused up update upstream url usage usual
  validate
  told tolerated too trial transform transport turns unauthorized unavailable uncapped unfinished
  unit
  unknown unopened unresolvable unseen unsupported unused up update upstream url usage validate
  validation value variable vault version view viewport wakeups wanted warning watchdog watched web
  webhook well widths window wire with withheld within without work worker write writer written
  wrong
  arrivals
  character longer preview replace sweep sweeping than
  bound evaluate evaluated evaluation evaluator expression filler global js keyword lex lexed
  span spans telemetry
  meaning megabytes missing needs outline prelude reading root roots sandbox sandboxes script
  scripts shortened spelled suggestion surroundings
  array certificates endpoint highest fixed frames guarded parameter rows screen secure socket
  sockets submission tls llm model strict tokens levels steps prompt
  deliver domain email mail ports recipients subject
  arrays arrival console encode encoded followed inputs journey late location moved redirects xml
  meets
  confined go mask may remove reseal seal secret user
  authorize channel notification outside transaction transactional
  bucket disk piece removals separate swept sync synced unless
  function option reach shortest
  any crash hangs if mock picture play played process real task testing virtual what
  append put sqlite
`
  .trim()
  .split(/\s+/)
