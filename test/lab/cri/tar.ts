/** Archives in the `ustar` format: files, folders and symbolic links, each with the owner root and the time 0. Pure: equal entries give equal bytes. */

export type TarEntry =
  | { readonly path: string; readonly kind: 'folder'; readonly mode: number }
  | { readonly path: string; readonly kind: 'link'; readonly target: string }
  | { readonly path: string; readonly kind: 'file'; readonly mode: number; readonly content: Buffer };

const blockBytes = 512;
const typeFlag = { file: '0', link: '2', folder: '5' } as const;

/** @throws Error on a path or a link's target of more than 100 bytes, which the format has no room for. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const end = Buffer.alloc(2 * blockBytes);
  return Buffer.concat([...entries.flatMap((entry) => [header(entry), ...content(entry)]), end]);
}

function content(entry: TarEntry): Buffer[] {
  if (entry.kind !== 'file') return [];
  const padding = (blockBytes - (entry.content.length % blockBytes)) % blockBytes;
  return [entry.content, Buffer.alloc(padding)];
}

function header(entry: TarEntry): Buffer {
  const block = Buffer.alloc(blockBytes);
  writeText(block, 0, entry.kind === 'folder' ? `${entry.path}/` : entry.path);
  writeOctal(block, 100, 8, entry.kind === 'link' ? 0o777 : entry.mode);
  writeOctal(block, 108, 8, 0);
  writeOctal(block, 116, 8, 0);
  writeOctal(block, 124, 12, entry.kind === 'file' ? entry.content.length : 0);
  writeOctal(block, 136, 12, 0);
  block.write(typeFlag[entry.kind], 156, 'latin1');
  if (entry.kind === 'link') writeText(block, 157, entry.target);
  block.write('ustar\u000000', 257, 'latin1');
  writeChecksum(block);
  return block;
}

function writeText(block: Buffer, at: number, text: string): void {
  if (Buffer.byteLength(text) > 100) throw new Error(`${text}: an archive has room for 100 bytes of a path`);
  block.write(text, at);
}

function writeOctal(block: Buffer, at: number, length: number, value: number): void {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
}

/** The sum of all bytes of the header, its own eight counted as spaces. */
function writeChecksum(block: Buffer): void {
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
}
