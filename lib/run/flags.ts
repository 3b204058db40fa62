/** Command-line flags with a fallback in the environment. Pure: argv and env come by parameter, problems leave as `UsageError`. */

/** How one flag is read; made by `text`, `integer`, `list` and `toggle`. */
export interface Flag<T> {
  readonly help: string;
  /** Shown in `--help` for the value; absent for a flag that takes none. */
  readonly value?: string;
  readonly parse: (raw: string) => T;
  /** Absent: the flag must be given. */
  readonly fallback?: { readonly value: T };
}

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
export type FlagSpec = Readonly<Record<string, Flag<unknown>>>;
/** `metrics-address` in the spec becomes `metricsAddress` here. */
export type FlagValues<S extends FlagSpec> = {
  readonly [Name in keyof S & string as Camel<Name>]: S[Name] extends Flag<infer T> ? T : never;
};

/** The command line cannot be used (exit code 2), or help was asked for (exit code 0). `message` is the text to print. */
export class UsageError extends Error {
  readonly exitCode: 0 | 2;
  constructor(message: string, exitCode: 0 | 2) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = exitCode;
  }
}

/** A required text. With `fallback`, an optional one; `undefined` is a fallback too. */
export function text(help: string): Flag<string>;
export function text<F extends string | undefined>(help: string, fallback: F): Flag<string | F>;
export function text(help: string, ...fallback: [string | undefined] | []): Flag<string | undefined> {
  return { help, value: 'text', parse: (raw) => raw, ...optional(fallback) };
}

/** A comma list: parts are trimmed, empty parts are dropped. */
export function list(help: string, ...fallback: [readonly string[]] | []): Flag<readonly string[]> {
  const parse = (raw: string) =>
    raw
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  return { help, value: 'a,b,…', parse, ...optional(fallback) };
}

/** A decimal whole number of zero or more. */
export function integer(help: string, ...fallback: [number] | []): Flag<number> {
  const parse = (raw: string) => {
    if (!/^\d{1,15}$/.test(raw)) throw new RangeError(`"${raw}" is not a whole number`);
    return Number(raw);
  };
  return { help, value: 'number', parse, ...optional(fallback) };
}

/** A port of TCP or UDP, or 0. */
export function port(help: string, ...fallback: [number] | []): Flag<number> {
  const number = integer(help, ...fallback);
  const parse = (raw: string) => {
    const value = number.parse(raw);
    if (value > 65_535) throw new RangeError(`"${raw}" is not a port`);
    return value;
  };
  return { ...number, parse };
}

/** One of a few words. */
export function choice<const C extends string>(
  help: string,
  choices: readonly C[],
  ...fallback: [NoInfer<C>] | []
): Flag<C> {
  const parse = (raw: string) => {
    const found = choices.find((word) => word === raw);
    if (found === undefined) throw new RangeError(`"${raw}" is not one of ${choices.join(', ')}`);
    return found;
  };
  return { help, value: choices.join('|'), parse, ...optional(fallback) };
}

/** Off unless given: `--name`, `--name=true`, `--name=false`. */
export function toggle(help: string): Flag<boolean> {
  const parse = (raw: string) => {
    if (raw !== 'true' && raw !== 'false') throw new RangeError(`"${raw}" is not true or false`);
    return raw === 'true';
  };
  return { help, parse, fallback: { value: false } };
}

/**
 * Reads `--name value` or `--name=value`; the environment variable `ISTHMUS_<NAME>` stands in for a missing flag.
 * @throws UsageError on `--help`, on an unknown, repeated or missing flag and on a value that cannot be read
 */
export function parseFlags<S extends FlagSpec>(
  spec: S,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): FlagValues<S> {
  const given = readArguments(spec, argv);
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(spec)) {
    const variable = variableOf(name);
    const source = given.has(name) ? `--${name}` : variable;
    const raw = given.get(name) ?? env[variable];
    if (raw !== undefined) values[camel(name)] = readValue(source, flag, raw);
    else if (flag.fallback) values[camel(name)] = flag.fallback.value;
    else throw new UsageError(`--${name} (or ${variable}) is missing: ${flag.help}; see --help`, 2);
  }
  return values as FlagValues<S>;
}

/** The text `--help` prints. */
export function renderHelp(spec: FlagSpec): string {
  const lines = Object.entries(spec).map(([name, flag]) => {
    const fallback = flag.fallback === undefined ? 'required' : defaultText(flag.fallback.value);
    return `  --${name}${flag.value === undefined ? '' : ` <${flag.value}>`}\n      ${flag.help}${fallback === '' ? '' : ` (${fallback})`}`;
  });
  return `flags, each also as ISTHMUS_<NAME> in the environment:\n${lines.join('\n')}\n`;
}

function readArguments(spec: FlagSpec, argv: readonly string[]): Map<string, string> {
  const given = new Map<string, string>();
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    if (argument === '--help' || argument === '-h') throw new UsageError(renderHelp(spec), 0);
    const match = /^--([a-z][a-z0-9-]*)(?:=(.*))?$/s.exec(argument);
    const name = match?.[1];
    const flag = name !== undefined && Object.hasOwn(spec, name) ? spec[name] : undefined;
    if (name === undefined || flag === undefined)
      throw new UsageError(`"${argument}" is not a flag of this program; see --help`, 2);
    if (given.has(name)) throw new UsageError(`--${name} is given twice`, 2);
    let raw = match?.[2];
    if (raw === undefined && flag.value === undefined) raw = 'true';
    if (raw === undefined) raw = argv[++index];
    if (raw === undefined) throw new UsageError(`--${name} needs a value: ${flag.help}`, 2);
    given.set(name, raw);
  }
  return given;
}

function readValue(source: string, flag: Flag<unknown>, raw: string): unknown {
  try {
    return flag.parse(raw);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`${source}: ${error.message}`, 2);
    throw error;
  }
}

function optional<T>(fallback: readonly [T] | readonly []): { fallback?: { value: T } } {
  return fallback.length === 0 ? {} : { fallback: { value: fallback[0] } };
}

function defaultText(value: unknown): string {
  if (value === undefined || value === false || value === '') return '';
  if (Array.isArray(value) && value.length === 0) return 'none by default';
  return `default ${Array.isArray(value) ? value.join(',') : JSON.stringify(value)}`;
}

function variableOf(name: string): string {
  return `ISTHMUS_${name.toUpperCase().replaceAll('-', '_')}`;
}

function camel(name: string): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
