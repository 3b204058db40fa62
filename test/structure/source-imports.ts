/** The import graph of the rooms and of lib/, read from the sources: imports of types count as much as those at run time. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** File → the files it imports, as paths from the root of the repository. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

const root = join(import.meta.dirname, '../..');
const sources = '{lib,central,controller,daemon,interconnect,speaker,cli}/**/*.ts';
/** The workspaces of package.json, which the rooms import by name. */
const packages = new Map([
  ['ovsdb-client', 'lib/ovsdb/src/index.ts'],
  ['gobgp-js', 'lib/gobgp/src/index.ts'],
]);
/** `… from '…'`, `import('…')`, and `import '…'`. */
const specifiers = /^(?:import|export)\b[^'";]*?\bfrom '([^']+)'|\bimport\('([^']+)'\)|^import '([^']+)'/gm;

export function readImports(): Graph {
  const files = globSync(sources, { cwd: root, exclude: ['**/node_modules/**'] }).sort();
  return new Map(files.map((file) => [file, importsOf(file, readFileSync(join(root, file), 'utf8'))]));
}

export function importsOf(file: string, source: string): ReadonlySet<string> {
  const imports = new Set<string>();
  for (const [, from, dynamic, bare] of source.matchAll(specifiers)) {
    const specifier = from ?? dynamic ?? bare ?? '';
    const target = specifier.startsWith('.') ? join(dirname(file), specifier) : packages.get(specifier);
    if (target !== undefined && target.endsWith('.ts')) imports.add(target);
  }
  return imports;
}

/** One circle of each group of nodes that reach each other, the shortest through the group's first node; it ends where it begins. */
export function circlesOf(graph: Graph): readonly (readonly string[])[] {
  const circles: string[][] = [];
  const seen = new Set<string>();
  for (const node of graph.keys()) {
    if (seen.has(node)) continue;
    const circle = shortestCircle(graph, node);
    if (circle === undefined) continue;
    for (const each of groupOf(graph, node)) seen.add(each);
    circles.push(circle);
  }
  return circles;
}

function shortestCircle(graph: Graph, start: string): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const open = [start];
  for (let node = open.shift(); node !== undefined; node = open.shift())
    for (const next of graph.get(node) ?? []) {
      if (next === start) return [...wayTo(node, cameFrom, start), start];
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, node);
      open.push(next);
    }
  return undefined;
}

function wayTo(end: string, cameFrom: ReadonlyMap<string, string>, start: string): string[] {
  const way = [end];
  for (let node = end; node !== start; way.unshift(node)) node = cameFrom.get(node) ?? start;
  return way;
}

/** The nodes that `start` reaches and that reach it. */
function groupOf(graph: Graph, start: string): readonly string[] {
  const forward = reachable(graph, start);
  return [...forward].filter((node) => reachable(graph, node).has(start));
}

function reachable(graph: Graph, start: string): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const node of reached) for (const next of graph.get(node) ?? []) reached.add(next);
  return reached;
}
