/**
 * Writes lib/ovn/generated/*.ts from the `.ovsschema` files installed on this machine (`npm run generate`).
 * The committed files are those of the oldest supported release: columns that only newer servers have are read from
 * the server's own schema at run time, never assumed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type DatabaseSchema, parseSchema } from 'ovsdb-client';
import { renderTables } from './render.ts';

/** Generated module → the schema it is made from. */
export const sources = {
  northbound: '/usr/share/ovn/ovn-nb.ovsschema',
  southbound: '/usr/share/ovn/ovn-sb.ovsschema',
  'ic-northbound': '/usr/share/ovn/ovn-ic-nb.ovsschema',
  'ic-southbound': '/usr/share/ovn/ovn-ic-sb.ovsschema',
  'open-vswitch': '/usr/share/openvswitch/vswitch.ovsschema',
} as const;

/** Undefined if the file is not installed. */
export function readSchema(path: string): DatabaseSchema | undefined {
  return existsSync(path) ? parseSchema(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
}

export function generatedPath(module: string): URL {
  return new URL(`generated/${module}.ts`, import.meta.url);
}

function main(): void {
  for (const [module, path] of Object.entries(sources)) {
    const schema = readSchema(path);
    if (schema === undefined)
      process.stderr.write(`${path} is not installed: lib/ovn/generated/${module}.ts stays as it is\n`);
    else writeFileSync(generatedPath(module), renderTables(schema));
  }
}

if (import.meta.main) main();
