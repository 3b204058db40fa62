/**
 * The suite as a list of jobs. In: the test files; out: jobs in the order in which they should start, and the next of them that may start.
 * Pure. Files in the shared lab run one at a time, and so do files with labs of their own: two labs at most. All other files wait for their
 * servers most of the time.
 */

export type Tier = 'check' | 'unit' | 'lab' | 'system';

export interface Job {
  /** A test file, or a phase in words. */
  readonly name: string;
  readonly tier: Tier;
  /** The test files it runs. */
  readonly files: readonly string[];
  /** A program to run instead of test files. */
  readonly argv?: readonly string[];
  /** Names of jobs that must have passed before it starts. */
  readonly needs: readonly string[];
  /** Jobs with the same value run one at a time. */
  readonly uses?: string;
  /** Whether everything it starts ends with it. What a job starts in the shared lab belongs to the lab. */
  readonly isContained?: boolean;
}

export interface TestFile {
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** Whether it opens the lab that is up for all tests. */
  readonly isInLab: boolean;
}

/** The value of `uses` of jobs in the lab that is up for all tests. */
export const sharedLab = 'lab';
const labUp = 'lab up';
const labDown = 'lab down';
/** Files with a lab, or with clusters joined by OVN, of their own. */
const hasOwnLab = /^test\/system\/(?:lab|ic|interconnect|multicluster)[^/]*$/;

/** Files that take longer than their size suggests. All others are ordered by size, which is close enough. */
const slow: readonly string[] = [
  'test/system/central.test.ts',
  'test/system/central-recovery.test.ts',
  'test/system/bgp/loss-reasons.test.ts',
  'test/system/daemon-gateway.test.ts',
  'test/system/daemon-programs.test.ts',
  'test/system/gateway-failover.test.ts',
];

/** So many that each ends long before the time limit of a job, also beside labs on two cores. */
const unitParts = 4;

/** A failure ends the run. */
export function checkJobs(): Job[] {
  const argv = ['npm', 'run', '--silent', 'check'];
  return [{ name: 'types, lint, format', tier: 'check', files: [], argv, needs: [] }];
}

/** Few processes, as each loads the project once: the tests of gobgp wait for routers nearly all the time, so they have one of their own. */
export function unitJobs(paths: readonly string[]): Job[] {
  const isOfGobgp = (path: string): boolean => path.startsWith('lib/gobgp/');
  const others = paths.filter((path) => !isOfGobgp(path));
  const parts = [
    // They start routers in network namespaces.
    { name: 'unit tests of gobgp', files: paths.filter(isOfGobgp), isContained: true },
    ...Array.from({ length: unitParts }, (_, part) => ({
      name: `unit tests, part ${part + 1} of ${unitParts}`,
      files: others.filter((_file, index) => index % unitParts === part),
    })),
  ];
  return parts.filter(({ files }) => files.length > 0).map((part) => ({ ...part, tier: 'unit', needs: [] }));
}

/** Files in labs come first, because they run one after the other. The others are ordered longest first: a run ends with its last file. */
export function systemJobs(files: readonly TestFile[]): Job[] {
  const isSlow = ({ path }: TestFile): number => Number(slow.includes(path));
  const bySize = files.toSorted(
    (one, other) => isSlow(other) - isSlow(one) || other.size - one.size || one.path.localeCompare(other.path),
  );
  const pathsOf = (isWanted: (file: TestFile) => boolean): string[] => bySize.filter(isWanted).map(({ path }) => path);
  const inLab = pathsOf(({ isInLab }) => isInLab);
  const withOwnLab = pathsOf(({ path, isInLab }) => !isInLab && hasOwnLab.test(path));
  const others = pathsOf(({ path, isInLab }) => !isInLab && !hasOwnLab.test(path));
  return [
    ...(inLab.length > 0 ? jobsInLab(inLab) : []),
    ...withOwnLab.map((path) => ({ ...fileJob(path), uses: 'own lab' })),
    ...others.map(fileJob),
  ];
}

function jobsInLab(paths: readonly string[]): Job[] {
  const tests = paths.map((path) => ({ ...fileJob(path), needs: [labUp], uses: sharedLab, isContained: false }));
  return [labJob(labUp, 'up', []), ...tests, labJob(labDown, 'down', paths)];
}

function labJob(name: string, command: string, needs: readonly string[]): Job {
  return { name, tier: 'lab', files: [], argv: ['node', 'test/lab/main.ts', command], needs, uses: sharedLab };
}

function fileJob(path: string): Job {
  return { name: path, tier: 'system', files: [path], needs: [], isContained: true };
}

/** The first of the waiting jobs that may start now, if `atOnce` of them may run. */
export function nextJob(
  waiting: readonly Job[],
  running: readonly Job[],
  passed: ReadonlySet<string>,
  atOnce: number,
): Job | undefined {
  if (running.length >= atOnce) return undefined;
  const used = new Set(running.map(({ uses }) => uses).filter((word) => word !== undefined));
  return waiting.find(
    ({ needs, uses }) => needs.every((name) => passed.has(name)) && (uses === undefined || !used.has(uses)),
  );
}
