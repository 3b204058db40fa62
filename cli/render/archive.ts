/** Packs files into a tar archive (POSIX.1-1988, ustar), which every tar reads. In: paths and texts. Out: bytes. Pure. */
import type { ReportFile } from '../model/report.ts';

const blockBytes = 512;
/** Bytes of the fields `name` and `prefix` of the header. */
const nameBytes = 100;
const prefixBytes = 155;

/** @param modifiedMs of all files, milliseconds since 1970 @throws RangeError for a path that the format cannot hold */
export function packFiles(files: readonly ReportFile[], modifiedMs: number): Buffer {
  const parts = files.flatMap(({ path, text }) => {
    const content = Buffer.from(text);
    const padding = Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes);
    return [headerOf(path, content.length, modifiedMs), content, padding];
  });
  // Two blocks of zeros end an archive.
  return Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]);
}

function headerOf(path: string, size: number, modifiedMs: number): Buffer {
  const [prefix, name] = splitPath(path);
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, offset: number, length: number): void => {
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset);
  };
  header.write(name, 0);
  octal(0o600, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(Math.floor(modifiedMs / 1000), 136, 12);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function splitPath(path: string): readonly [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= nameBytes) return ['', path];
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(prefix) <= prefixBytes && Buffer.byteLength(name) <= nameBytes) return [prefix, name];
  }
  throw new RangeError(`the path ${path} is too long for a tar archive`);
}
