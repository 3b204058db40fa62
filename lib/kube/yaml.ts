import { parse } from 'yaml';

/** Reads one YAML document. A file of its own: bundled, a package that is CommonJS cannot be imported late by its names. @throws YAMLParseError */
export function parseYaml(text: string): unknown {
  return parse(text);
}
