/** The commands of a guide, as its readers type them. Pure. */

/** The command lines in the blocks of one section, without comments; lines that end with a backslash are joined. */
export function commandsOf(guide: string, section: string): readonly string[] {
  const [, body = ''] = guide.split(`\n## ${section}\n`);
  const [own = ''] = body.split('\n## ');
  const blocks = [...own.matchAll(/^ *```\n(.*?)^ *```$/gms)].map(([, text = '']) => text);
  const lines = blocks.flatMap((text) => text.replaceAll(/\\\n\s*/g, '').split('\n'));
  return lines
    .map((line) => line.replace(/\s+# .*$/, '').trim())
    .filter((line) => /^(?:helm|kubectl|isthmus|kube-proxy|nft|curl) /.test(line));
}
