const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** RFC 1035, without the dot at the end. */
const longest = 253;

/** A domain name of at least two labels in lower case, without a dot at the end; undefined for any other text. */
export function parseDomainName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, '');
  const labels = name.split('.');
  return name.length <= longest && labels.length > 1 && labels.every((one) => label.test(one)) ? name : undefined;
}

/** A domain name of which the first label is `*`, which stands for one or more labels; undefined for any other text. The names after the dot have at least two labels, as the Network Policy API demands. */
export function parseDomainPattern(text: string): string | undefined {
  if (!text.startsWith('*.')) return undefined;
  const parent = parseDomainName(text.slice(2));
  return parent && `*.${parent}`;
}

export function isDomainPattern(name: string): boolean {
  return name.startsWith('*.');
}

/** The patterns of a set that match a name: one for each domain that contains it. */
export function patternsOf(name: string, patterns: { has(pattern: string): boolean }): readonly string[] {
  const found: string[] = [];
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const pattern = `*${name.slice(dot)}`;
    if (patterns.has(pattern)) found.push(pattern);
  }
  return found;
}
