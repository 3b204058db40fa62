/** Renders who may reach whom as a flowchart of Mermaid. In: a graph. Out: text within the limits of Mermaid, which draws nothing beyond them. Pure. */
import type { GraphEdge, GraphNode, PolicyGraph } from '../../plan/network-policy/graph.ts';

/** A flowchart with more nodes is not legible. */
const mostNodes = 60;
/** Mermaid's defaults are 500 links and 50,000 characters. */
const [mostEdges, mostCharacters] = [500, 48_000] as const;
/** Of what is said about rules, and the longest text about one. */
const [mostFlaws, longestNote] = [10, 1000] as const;
/** Of a label before characters are replaced, and of a list of ports. */
const [longestLabel, longestPorts] = [80, 60] as const;

export interface Drawing {
  readonly text: string;
  /** Whether it has all nodes and links. */
  readonly isWhole: boolean;
}

export function drawPolicyGraph(graph: PolicyGraph): Drawing {
  const { nodes, edges } = graph;
  const shown = nodes.slice(0, mostNodes);
  const head = ['flowchart LR', ...notesOf(graph).map(comment), ...shown.map(nodeLine)];
  const tail = [...missingLines(graph), ...closedLines(shown)];
  const links = fitting(edgesAmong(shown, edges).map(edgeLine), mostCharacters - lengthOf([...head, ...tail]));
  const [lostNodes, lostLinks] = [nodes.length - shown.length, edges.length - links.length];
  const cut = cutLines(lostNodes, lostLinks);
  return { text: `${[...head, ...links, ...cut, ...tail].join('\n')}\n`, isWhole: lostNodes + lostLinks === 0 };
}

function notesOf({
  namespace,
  nodes,
  edges,
  flaws,
  leftOut: { hostNetwork, withoutAddress },
}: PolicyGraph): readonly string[] {
  const given = (is: boolean, text: string): readonly string[] => (is ? [text] : []);
  return [
    `who may reach whom in namespace ${namespace} under its policies and those of the whole cluster`,
    ...given(!nodes.some(({ kind }) => kind === 'workload'), 'no pod here has an address that policies could guard'),
    ...given(
      edges.some(({ isByRule }) => !isByRule),
      'dotted: no NetworkPolicy isolates the workload in this direction',
    ),
    ...given(
      edges.some(({ isDenied }) => isDenied),
      'with a cross: denied, although the links with anywhere show it',
    ),
    ...given(
      hostNetwork > 0,
      `left out: pods in the network of their node, which policies do not select: ${hostNetwork}`,
    ),
    ...given(withoutAddress > 0, `left out: pods that have no address yet: ${withoutAddress}`),
    ...flaws.slice(0, mostFlaws).map((flaw) => `to know: ${flaw.slice(0, longestNote)}`),
    ...given(flaws.length > mostFlaws, `to know: ${flaws.length - mostFlaws} more rules, -o json has them`),
  ];
}

/** A comment is a line, and must not look like a directive (`%%{`). */
function comment(text: string): string {
  return `%% ${escaped(text)}`;
}

const shapes = {
  anywhere: ['((', '))'],
  workload: ['[', ']'],
  pods: ['([', '])'],
  nodes: ['[[', ']]'],
  addresses: ['{{', '}}'],
} as const satisfies Record<GraphNode['kind'], readonly [string, string]>;

function nodeLine({ id, kind, label }: GraphNode): string {
  const [open, close] = shapes[kind];
  return `${id}${open}${quoted(label, longestLabel)}${close}`;
}

function edgesAmong(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): readonly GraphEdge[] {
  const ids = new Set(nodes.map(({ id }) => id));
  return edges.filter(({ from, to }) => ids.has(from) && ids.has(to));
}

function edgeLine({ from, to, ports, isByRule, isDenied }: GraphEdge): string {
  const arrow = isDenied ? '--x' : isByRule ? '-->' : '-.->';
  return `${from} ${arrow}|${quoted(ports.join(', '), longestPorts)}| ${to}`;
}

function fitting(lines: readonly string[], characters: number): readonly string[] {
  let left = characters;
  const end = lines.findIndex((line, index) => index === mostEdges || (left -= line.length + 1) < 0);
  return end < 0 ? lines : lines.slice(0, end);
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0);
}

/** Those who look at the picture do not see the comment. */
function cutLines(nodes: number, edges: number): readonly string[] {
  if (nodes + edges === 0) return [];
  const text = `not drawn: ${nodes} nodes, ${edges} links`;
  return [
    comment(`${text}. The limits are ${mostNodes} nodes and what Mermaid draws, -o json has all`),
    `cut["${text}"]`,
  ];
}

/** Those who look at the picture must not take it for the whole truth. */
function missingLines({ unread }: PolicyGraph): readonly string[] {
  if (unread.length === 0) return [];
  const text = `not drawn, no permission to read: ${unread.join(', ')}`;
  return [comment(text), `unread[${quoted(text, longestNote)}]`];
}

function closedLines(nodes: readonly GraphNode[]): readonly string[] {
  const closed = nodes.filter(({ isClosed }) => isClosed).map(({ id }) => id);
  if (closed.length === 0) return [];
  return ['classDef closed stroke:#c00,stroke-width:3px', `class ${closed.join(',')} closed`];
}

function quoted(text: string, longest: number): string {
  const short = text.length > longest ? `${text.slice(0, longest)}...` : text;
  return `"${escaped(short)}"`;
}

/** Characters that mean nothing to Mermaid within quotes; it shows others by their code: `#34;`. */
const plain = /[A-Za-z0-9 .,:/=()!_-]/;

/** Names and labels are texts of the authors of pods. */
export function escaped(text: string): string {
  return Array.from(text, (one) => {
    if (plain.test(one)) return one;
    return /\p{C}/u.test(one) ? '?' : `#${one.codePointAt(0) ?? 0};`;
  }).join('');
}
