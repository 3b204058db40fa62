// Exits with 0 if node_modules matches package-lock.json. Runs on the machine's own Node, before ours is installed.
import { existsSync, readFileSync } from 'node:fs';

const read = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
const installedFile = 'node_modules/.package-lock.json';

function isCurrent() {
  if (!existsSync(installedFile)) return false;
  const installed = read(installedFile);
  return Object.entries(read('package-lock.json')).every(([path, wanted]) => {
    // Optional packages for other platforms are in the lock only; the workspaces themselves are in the checkout.
    if (!path.startsWith('node_modules/') || wanted.optional) return true;
    return wanted.link
      ? existsSync(path)
      : installed[path]?.version === wanted.version && installed[path]?.integrity === wanted.integrity;
  });
}

process.exit(isCurrent() && existsSync('node_modules/.bin/node') ? 0 : 1);
