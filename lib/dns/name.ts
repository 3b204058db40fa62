const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** RFC 1035, without the dot at the end. */
const longest = 253;

/** A domain name of at least two labels in lower case, without a dot at the end; undefined for any other text. */
export function parseDomainName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, '');
  const labels = name.split('.');
  return name.length <= longest && labels.length > 1 && labels.every((one) => label.test(one)) ? name : undefined;
}
