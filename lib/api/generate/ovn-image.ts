/** The tag of the image with OVN, from what it is built of: another version of the chart with the same OVN restarts nothing. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** As in images/build.sh. */
const inputs = ['images/ovn', 'images/sbom', 'images/unpack'];
const key = 'isthmus.network/ovn-image-tag';

/** Chart.yaml with the tag in its annotations. @throws where it has no such annotation */
export async function withOvnImageTag(root: string, chart: string): Promise<string> {
  const line = new RegExp(`^( +${key}:).*$`, 'm');
  if (!line.test(chart)) throw new Error(`Chart.yaml has no annotation ${key}`);
  return chart.replace(line, `$1 "${await tagOf(root)}"`);
}

async function tagOf(root: string): Promise<string> {
  const hash = createHash('sha256');
  for (const path of (await Promise.all(inputs.map((input) => filesBelow(root, input)))).flat().sort())
    hash.update(`${path}\n`).update(await readFile(join(root, path)));
  return hash.digest('hex').slice(0, 12);
}

async function filesBelow(root: string, path: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(join(root, path), { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return [path];
    throw error;
  }
}
