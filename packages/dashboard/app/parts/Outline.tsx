/**
 * A workflow as a small picture: boxes and lines, drawn from its outline. Pictures of other servers
 * are never loaded.
 */
import type { WorkflowItem as ListedWorkflow } from "@millrace/api/PromiseClient"

const width = 180
const height = 60

/** The picture. It says nothing that the text beside it does not say. */
export const Outline = ({ of: outline }: { readonly of: ListedWorkflow["outline"] }) => {
  const nodes = outline?.nodes ?? []
  if (outline === undefined || nodes.length === 0) return <svg aria-hidden className="outline" />
  const left = Math.min(...nodes.map(({ x }) => x))
  const top = Math.min(...nodes.map(({ y }) => y))
  const right = Math.max(...nodes.map(({ x }) => x)) + width
  const bottom = Math.max(...nodes.map(({ y }) => y)) + height
  const places = new Map(nodes.map((node) => [node.id, node]))
  return (
    <svg
      aria-hidden
      className="outline"
      viewBox={`${left - 10} ${top - 10} ${right - left + 20} ${bottom - top + 20}`}
      preserveAspectRatio="xMidYMid meet"
    >
      {outline.edges.map(({ source, target }, index) => {
        const from = places.get(source)
        const to = places.get(target)
        if (from === undefined || to === undefined) return null
        const [x1, y1] = [from.x + width, from.y + height / 2]
        const [x2, y2] = [to.x, to.y + height / 2]
        const bend = Math.max(30, (x2 - x1) / 2)
        return (
          <path
            key={index}
            vectorEffect="non-scaling-stroke"
            d={`M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`}
          />
        )
      })}
      {nodes.map(({ id, x, y }) => (
        <rect key={id} x={x} y={y} width={width} height={height} rx={12} />
      ))}
    </svg>
  )
}
