/**
 * What is made from the sources: the CRDs of the chart, docs/reference, the table of values in the chart's README, the tag of the image with OVN.
 * `npm run generate` writes them; `--check` writes nothing and fails when one is stale. Everything here is a function of
 * lib/api, values.yaml and images/ovn: the same sources give the same bytes.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { renderAnnotationsPage } from './generate/annotations-page.ts';
import { renderCrd } from './generate/crd.ts';
import { withOvnImageTag } from './generate/ovn-image.ts';
import { renderReferencePage } from './generate/reference-page.ts';
import { withValuesTable } from './generate/values-table.ts';
import { allKinds } from './kinds/all.ts';

const root = join(import.meta.dirname, '../..');
const chart = 'charts/isthmus';

/** Path from the root of the checkout → content, of every generated file of the API. */
export async function renderGenerated(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const kind of allKinds) {
    files.set(`${chart}/crds/${kind.group}_${kind.plural}.yaml`, renderCrd(kind));
    files.set(`docs/reference/${kind.kind.toLowerCase()}.md`, renderReferencePage(kind));
  }
  files.set('docs/reference/annotations.md', renderAnnotationsPage());
  const [readme, values, about] = await Promise.all(
    ['README.md', 'values.yaml', 'Chart.yaml'].map((name) => readFile(join(root, chart, name), 'utf8')),
  );
  files.set(`${chart}/README.md`, withValuesTable(readme ?? '', values ?? ''));
  files.set(`${chart}/Chart.yaml`, await withOvnImageTag(root, about ?? ''));
  return files;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The generated files whose content differs from what the sources say. */
export async function staleFiles(): Promise<ReadonlyMap<string, string>> {
  const stale = new Map<string, string>();
  for (const [path, content] of await renderGenerated())
    if ((await readIfThere(join(root, path))) !== content) stale.set(path, content);
  return stale;
}

if (import.meta.main) {
  const stale = await staleFiles();
  if (process.argv.includes('--check')) {
    for (const path of stale.keys()) process.stderr.write(`${path} is stale; run \`npm run generate\`\n`);
    process.exitCode = stale.size === 0 ? 0 : 1;
  } else
    for (const [path, content] of stale) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
      process.stdout.write(`${path}\n`);
    }
}
