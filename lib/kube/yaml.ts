import { parse, stringify as render } from 'yaml';

/** Reads one YAML document. A file of its own: bundled, a package that is CommonJS cannot be imported late by its names. @throws YAMLParseError */
export function parseYaml(text: string): unknown {
  return parse(text);
}

/** Writes one YAML document; equal parts are repeated, and no text is folded. */
export function stringify(value: unknown): string {
  return render(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
