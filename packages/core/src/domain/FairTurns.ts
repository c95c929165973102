/**
 * Sequences in turn: how accounts share a claim.
 *
 * Guarantees: lazy; a sequence is looked at when its first turn comes. Leaves out: the accounts.
 */

/** The first item of each sequence, then the second of each, and so on. */
export function* byTurns<A>(sequences: Iterable<Iterable<A>>): Iterable<A> {
  let going: Iterable<Iterator<A>> = startedOf(sequences)
  for (;;) {
    const left: Array<Iterator<A>> = []
    for (const sequence of going) {
      const next = sequence.next()
      if (next.done === true) continue
      left.push(sequence)
      yield next.value
    }
    if (left.length === 0) return
    going = left
  }
}

function* startedOf<A>(sequences: Iterable<Iterable<A>>): Iterable<Iterator<A>> {
  for (const sequence of sequences) yield sequence[Symbol.iterator]()
}
