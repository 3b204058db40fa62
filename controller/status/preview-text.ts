/** A dry run as people read it: totals first, then a line for each row and object. Pure. */
import { externalId } from '../../lib/api/names.ts';
import type { DryRunChange, DryRunReport } from '../../lib/desired/dry-run-report.ts';

/** A write to Kubernetes that was not made. */
export interface SkippedWrite {
  /** `Pod/default/web`, `IP/web.default`, `Subnet/a/status`. */
  readonly object: string;
  readonly content: unknown;
}

export interface Preview {
  readonly report: DryRunReport;
  /** Objects that would be created first: `Subnet join`. */
  readonly missing: readonly string[];
  readonly skipped: readonly SkippedWrite[];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function totals(changes: readonly DryRunChange[]): string {
  const actions = ['adopt', 'insert', 'update', 'mutate', 'delete'] as const;
  const parts = actions.map((action) => `${action} ${changes.filter((one) => one.action === action).length}`);
  return `Northbound database: ${parts.join(', ')}`;
}

function withoutIds(ids: unknown): Readonly<Record<string, unknown>> {
  const { [externalId.owner]: _, [externalId.key]: __, ...rest } = (ids ?? {}) as Readonly<Record<string, unknown>>;
  return rest;
}

function isSame(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  return keys.length === others.length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}

function changeLines({ action, table, key, owner, columns, members, parent }: DryRunChange): readonly string[] {
  const place = parent === undefined ? '' : ` into ${parent.table} ${parent.key}`;
  const lines = [`${action.padEnd(7)}${table} ${key}${place}${owner === undefined ? '' : ` (${owner})`}`];
  for (const [column, { from, to }] of Object.entries(columns)) {
    // Every adopted row gets our ids. To list them for each row would hide the other changes.
    if (action === 'adopt' && column === 'external_ids' && isSame(withoutIds(from), withoutIds(to))) continue;
    const before = from === undefined ? '' : `${JSON.stringify(from)} -> `;
    lines.push(`         ${column}: ${before}${JSON.stringify(to)}`);
  }
  for (const [column, { added, removed }] of Object.entries(members)) {
    const all = [...removed.map((name) => `-${name}`), ...added.map((name) => `+${name}`)];
    lines.push(`         ${column}: ${all.join(' ')}`);
  }
  return lines;
}

/** Ends with a newline. */
export function renderPreview({ report, missing, skipped }: Preview): string {
  const { changes, leftAlone, problems } = report;
  const lines = [
    'Nothing was written. A start of this controller would make these changes:',
    '',
    totals(changes),
    ...changes.flatMap(changeLines),
    '',
    `Left as they are: ${counted(leftAlone.length, 'row')} of Kube-OVN that nothing here wants`,
    ...leftAlone.map(({ table, key, description }) => `       ${[table, key, description].filter(Boolean).join(' ')}`),
    '',
    `Not possible: ${counted(problems.length, 'owner')} whose rows cannot be written`,
    ...problems.map(({ owner, problem }) => `       ${owner}: ${problem.code}: ${problem.message}`),
    '',
    `Kubernetes: ${counted(missing.length, 'object')} made, ${counted(skipped.length, 'object')} written`,
    ...missing.map((name) => `create ${name}`),
    ...skipped.map(({ object, content }) => `write  ${object} ${JSON.stringify(content)}`),
  ];
  return `${lines.join('\n')}\n`;
}
