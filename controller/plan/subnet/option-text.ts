/** Options as users of Kube-OVN write them: `name=value,name=value`, lists in braces or with `;` between their members. */

export interface OptionTexts {
  readonly values: ReadonlyMap<string, string>;
  /** Sentences about parts that are no option. */
  readonly problems: readonly string[];
}

/** Splits at commas that are neither in braces nor in quotes. */
function partsOf(text: string): readonly string[] {
  const parts = [''];
  let depth = 0;
  let isQuoted = false;
  for (const char of text) {
    if (char === '"') isQuoted = !isQuoted;
    if (char === '{') depth += 1;
    if (char === '}') depth = Math.max(0, depth - 1);
    if (char === ',' && depth === 0 && !isQuoted) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim());
}

export function readOptionTexts(text: string): OptionTexts {
  const values = new Map<string, string>();
  const problems: string[] = [];
  for (const part of text.trim() === '' ? [] : partsOf(text)) {
    const [, name = '', value = ''] = /^([^=\s]+)\s*=\s*(.*)$/s.exec(part) ?? [];
    if (name === '' || value === '') problems.push(`'${part}' is not name=value`);
    else if (values.has(name)) problems.push(`${name} is given twice`);
    else values.set(name, value);
  }
  return { values, problems };
}

/** Members of `{a,b}`, `{a;b}` or `a;b`. */
export function membersOf(value: string): readonly string[] {
  const inner = /^\{(.*)\}$/s.exec(value)?.[1] ?? value;
  return inner.split(/[,;]/).map((member) => member.trim());
}

/** The text without its quotes; undefined if OVN could not quote it. */
export function unquoted(value: string): string | undefined {
  const inner = /^"(.*)"$/s.exec(value)?.[1] ?? value;
  return /^[\x20-\x7e]+$/.test(inner) && !/["\\]/.test(inner) ? inner : undefined;
}
