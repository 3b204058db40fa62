/**
 * The definition of a command, and the parsing of its arguments. In: argv after the command's name. Out: flags and
 * operands, or a UsageError with the text to print. lib/run/flags parses long flags; this file adds short flags,
 * operands between flags, and lists given by repeating a flag.
 */
import {
  list,
  parseFlags,
  toggle,
  renderHelp,
  UsageError,
  type Flag,
  type FlagSpec,
  type FlagValues,
} from '../../lib/run/flags.ts';

/** 0: success; 1: a problem was found; 2: usage error; 3: a cluster or hub could not be reached. */
export type ExitCode = 0 | 1 | 2 | 3;

type Environment = Readonly<Record<string, string | undefined>>;

/** The output of a command, and its environment besides flags. */
export interface Terminal {
  readonly env: Environment;
  readonly out: (text: string) => void;
  /** Writes text that is not part of the result: progress, notes. */
  readonly note: (text: string) => void;
  /** Reads standard input to its end, for an operand `-`. */
  readonly readInput: () => Promise<string>;
  /** Asks the person at the terminal; undefined if there is none, or if the input ended. */
  readonly ask: (question: string) => Promise<string | undefined>;
  readonly isColoured: boolean;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

export interface Invocation<S extends FlagSpec> {
  readonly flags: FlagValues<S>;
  readonly operands: readonly string[];
  readonly terminal: Terminal;
}

export interface CommandText {
  readonly name: string;
  /** Operands as shown: `NODE`, `[CLUSTER]`. */
  readonly operands: readonly string[];
  /** One line for the list of commands. */
  readonly summary: string;
  /** What the command does and prints, in full sentences. */
  readonly description: string;
  readonly examples: readonly string[];
}

export interface Command extends CommandText {
  /** @param group the word before the command's name, as in `isthmus ic status`; empty if there is none */
  readonly run: (argv: readonly string[], terminal: Terminal, group: string) => Promise<ExitCode>;
}

/** Flags of every command; they may also precede the command's name. */
export const commonFlags = {
  'no-color': toggle('no colours; the default if NO_COLOR is set or the output is not a terminal'),
};

const shortFlags: Readonly<Record<string, string>> = {
  '-f': '--values',
  '-o': '--output',
  '-n': '--namespace',
  '-h': '--help',
};

export function command<S extends FlagSpec>(
  text: CommandText,
  own: S,
  run: (invocation: Invocation<S>) => Promise<ExitCode>,
): Command {
  const spec = { ...own, ...commonFlags };
  return {
    ...text,
    run: async (argv, terminal, group) => {
      const words = separate(spec, argv);
      if (words.isHelp) throw new UsageError(renderCommandHelp(group, text, spec), 0);
      checkOperands(text, words.operands);
      const flags = parseFlags(spec, words.flags, terminal.env);
      const isColoured = terminal.isColoured && !flags.noColor;
      return run({ flags, operands: words.operands, terminal: { ...terminal, isColoured } });
    },
  };
}

interface Words {
  readonly flags: readonly string[];
  readonly operands: readonly string[];
  readonly isHelp: boolean;
}

function separate(spec: FlagSpec, argv: readonly string[]): Words {
  const flags: string[] = [];
  const operands: string[] = [];
  const repeated = new Map<string, string[]>();
  let isHelp = false;
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    if (argument === '--') {
      operands.push(...argv.slice(index + 1));
      break;
    }
    const word = shortFlags[argument] ?? argument;
    if (word === '--help') isHelp = true;
    else if (!word.startsWith('-') || word === '-') operands.push(word);
    else {
      const [name, value] = splitOnce(word);
      const flag = Object.hasOwn(spec, name.slice(2)) ? spec[name.slice(2)] : undefined;
      const takesNext = value === undefined && flag?.value !== undefined;
      const given = takesNext ? argv[(index += 1)] : value;
      if (isList(flag) && given !== undefined) repeated.set(name, [...(repeated.get(name) ?? []), given]);
      else flags.push(...(takesNext && given !== undefined ? [name, given] : [word]));
    }
  }
  for (const [name, values] of repeated) flags.push(name, values.join(','));
  return { flags, operands, isHelp };
}

function splitOnce(word: string): readonly [string, string?] {
  const at = word.indexOf('=');
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function isList(flag: Flag<unknown> | undefined): boolean {
  return flag?.value === 'a,b,…';
}

function checkOperands({ name, operands }: CommandText, given: readonly string[]): void {
  const least = operands.filter((operand) => !operand.startsWith('[')).length;
  const missing = operands[given.length];
  if (given.length < least && missing !== undefined)
    throw new UsageError(`${name}: ${missing} is missing; see --help`, 2);
  const extra = given[operands.length];
  if (extra !== undefined) throw new UsageError(`${name}: unexpected argument "${extra}"; see --help`, 2);
}

function renderCommandHelp(
  group: string,
  { name, operands, description, examples }: CommandText,
  flags: FlagSpec,
): string {
  const words = ['isthmus', group, name, ...operands, '[flags]'];
  const usage = words.filter((word) => word !== '').join(' ');
  const shown = examples.map((example) => `  ${example}`).join('\n');
  const parts = ['usage: ', usage, '\n\n', description, '\n\nexamples:\n', shown, '\n\n', renderHelp(flags)];
  return parts.join('');
}

/** A flag that is given once, repeated, or with commas; undefined if it is absent. */
export function repeatable(help: string): Flag<readonly string[] | undefined> {
  return { ...list(help), fallback: { value: undefined } };
}

/** A flag for a duration: `500ms`, `30s`, `5m`, `1h`, `2d`; `durationMs` parses the value. */
export function duration(help: string, fallback: string): Flag<string> {
  const parse = (raw: string) => {
    durationMs(raw);
    return raw;
  };
  return { help, value: 'time', parse, fallback: { value: fallback } };
}

/** An optional duration: `--name` means `whenBare`, `--name=30s` sets a value; a following word is not part of the flag. */
export function optionalDuration(help: string, whenBare: string): Flag<string | undefined> {
  const parse = (raw: string) => {
    if (raw === 'false') return undefined;
    const span = raw === 'true' ? whenBare : raw;
    durationMs(span);
    return span;
  };
  return { help, parse, fallback: { value: undefined } };
}

/** Parses a duration to milliseconds. @throws RangeError if the text is not a duration */
export function durationMs(raw: string): number {
  const match = /^([1-9]\d{0,6})(ms|s|m|h|d)$/.exec(raw);
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match?.[2] ?? ''];
  if (match === null || unit === undefined)
    throw new RangeError(`"${raw}" is not a duration; write for example 30s, 5m or 1h`);
  return Number(match[1]) * unit;
}
