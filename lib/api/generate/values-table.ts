import { isMap, isScalar, parseDocument, stringify, type Pair, type YAMLMap } from 'yaml';

const marker = /^\s*-- ?/;

interface Row {
  readonly path: string;
  readonly value: string;
  readonly text: string;
}

function describedBy(comment: string | null | undefined): string | undefined {
  const lines = (comment ?? '').split('\n');
  const start = lines.findLastIndex((line) => marker.test(line));
  if (start === -1) return undefined;
  return lines
    .slice(start)
    .map((line) => line.replace(marker, '').trim())
    .join(' ')
    .trim();
}

/** The comment of the first key of a map sits on the map itself. */
function commentOf(pair: Pair, map: YAMLMap, isFirst: boolean): string | null | undefined {
  const own = isScalar(pair.key) ? pair.key.commentBefore : undefined;
  return own ?? (isFirst ? map.commentBefore : undefined);
}

function* rows(map: YAMLMap, prefix: string): Generator<Row> {
  for (const [index, pair] of map.items.entries()) {
    const path = `${prefix}${isScalar(pair.key) ? String(pair.key.value) : ''}`;
    const text = describedBy(commentOf(pair, map, index === 0));
    if (text !== undefined) {
      const json = JSON.stringify(
        isMap(pair.value) || !isScalar(pair.value) ? (pair.value as YAMLMap).toJSON() : pair.value.value,
      );
      yield { path, value: json, text };
    } else if (isMap(pair.value) && pair.value.items.length > 0) yield* rows(pair.value, `${path}.`);
    else throw new TypeError(`values.yaml: "${path}" has no "# -- " comment (${stringify(pair.value).trim()})`);
  }
}

/** The values of a chart as a table. @throws when one has no description */
export function renderValuesTable(valuesYaml: string): string {
  const document = parseDocument(valuesYaml);
  if (!isMap(document.contents)) throw new TypeError('values.yaml: expected a map');
  const lines = [...rows(document.contents, '')].map(
    ({ path, value, text }) => `| \`${path}\` | \`${value.replaceAll('|', '\\|')}\` | ${text.replaceAll('|', '\\|')} |`,
  );
  return ['| value | default | meaning |', '|---|---|---|', ...lines].join('\n');
}

const begin = '<!-- values -->';
const end = '<!-- /values -->';

/** The README with its table made anew between the two markers. @throws when a marker is missing */
export function withValuesTable(readme: string, valuesYaml: string): string {
  const from = readme.indexOf(begin);
  const to = readme.indexOf(end);
  if (from === -1 || to < from) throw new TypeError(`the chart's README lacks ${begin} … ${end}`);
  return `${readme.slice(0, from)}${begin}\n${renderValuesTable(valuesYaml)}\n${readme.slice(to)}`;
}
