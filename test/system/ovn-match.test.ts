/**
 * Checks every match of lib/ovn/match/cases.ts with OVN: all become ACLs of a switch, northd turns them into logical flows,
 * and ovn-trace, which has ovn-controller's parser, reports those that it cannot parse.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { badMatches, goodMatches } from '../../lib/ovn/match/cases.ts';
import { checkMatch } from '../../lib/ovn/match/check.ts';

const dir = mkdtempSync(join(tmpdir(), 'ovn-match-'));
const sockets = { nb: `unix:${dir}/nb.sock`, sb: `unix:${dir}/sb.sock` };
const matches = [...goodMatches, ...badMatches];

function run(program: string, ...argv: string[]): string {
  return execFileSync(program, argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function daemon(program: string, name: string, ...argv: string[]): void {
  const files = ['pid', 'log', 'ctl'].map((end) => `${dir}/${name}.${end}`);
  const [pid = '', log = '', control = ''] = files;
  run(program, ...argv, `--pidfile=${pid}`, `--log-file=${log}`, `--unixctl=${control}`, '--detach');
}

function nbctl(...argv: string[]): void {
  run('ovn-nbctl', `--db=${sockets.nb}`, '--timeout=30', ...argv);
}

/** Adds a switch with every match as an ACL; an allow-related ACL makes northd wrap them in parentheses. */
function addSwitch(name: string, isStateful: boolean): void {
  nbctl('ls-add', name, '--', 'lsp-add', name, `${name}-p`, '--', 'pg-set-ports', 'pg1', `${name}-p`);
  if (isStateful) nbctl('acl-add', name, 'to-lport', '1', '1', 'allow-related');
  const uuids = matches.map((_, index) => ['named-uuid', `row${index}`]);
  const inserts = matches.map((match, index) => ({
    op: 'insert',
    table: 'ACL',
    row: { direction: 'to-lport', priority: index + 10, match, action: 'drop' },
    'uuid-name': `row${index}`,
  }));
  const mutate = {
    op: 'mutate',
    table: 'Logical_Switch',
    where: [['name', '==', name]],
    mutations: [['acls', 'insert', ['set', uuids]]],
  };
  const answer = run('ovsdb-client', 'transact', sockets.nb, JSON.stringify(['OVN_Northbound', ...inserts, mutate]));
  assert.doesNotMatch(answer, /"error"/);
}

interface Flow {
  readonly match: string;
  readonly priority: number;
  readonly external_ids: readonly [string, readonly (readonly [string, string])[]];
}

/** The matches that ovn-trace could not parse in the flows of all switches. */
function refusedByOvn(switchName: string): ReadonlySet<string> {
  const select = { op: 'select', table: 'Logical_Flow', where: [], columns: ['match', 'priority', 'external_ids'] };
  const answer = run('ovsdb-client', 'transact', sockets.sb, JSON.stringify(['OVN_Southbound', select]));
  const [{ rows }] = JSON.parse(answer) as [{ rows: Flow[] }];
  const packet = `inport == "${switchName}-p" && eth.src == 00:00:00:00:00:01 && eth.dst == 00:00:00:00:00:02`;
  const traced = spawnSync('ovn-trace', [`--db=${sockets.sb}`, switchName, packet], { encoding: 'utf8' });
  assert.equal(traced.status, 0, traced.stderr.slice(-300));
  const refused = new Set<string>();
  for (const [index, match] of matches.entries()) {
    const flows = rows.filter(
      (flow) => flow.priority === index + 1010 && flow.external_ids[1].some(([, value]) => value === 'ls_out_acl'),
    );
    assert.ok(flows.length > 0, `northd made no flow of ${match}`);
    if (flows.some((flow) => traced.stderr.includes(`|WARN|${flow.match}: parsing expression failed`)))
      refused.add(match);
  }
  return refused;
}

before(() => {
  for (const name of ['nb', 'sb'] as const) {
    run('ovsdb-tool', 'create', `${dir}/${name}.db`, `/usr/share/ovn/ovn-${name}.ovsschema`);
    daemon('ovsdb-server', name, `${dir}/${name}.db`, `--remote=p${sockets[name]}`);
  }
  daemon('ovn-northd', 'northd', `--ovnnb-db=${sockets.nb}`, `--ovnsb-db=${sockets.sb}`);
  const sets = { as1: '10.0.0.1', as6: '"fd00::1"' };
  for (const [name, address] of Object.entries(sets))
    nbctl('create', 'Address_Set', `name=${name}`, `addresses=${address}`);
  nbctl('pg-add', 'pg1');
});

after(() => {
  for (const name of ['northd', 'sb', 'nb'])
    try {
      process.kill(Number(readFileSync(`${dir}/${name}.pid`, 'utf8')));
    } catch {
      // The program never started, which has already failed the test.
    }
  rmSync(dir, { recursive: true });
});

for (const [name, isStateful] of [
  ['stateful', true],
  ['stateless', false],
] as const)
  test(`the checker refuses the same matches as OVN on a ${name} switch`, () => {
    addSwitch(name, isStateful);
    nbctl('--wait=sb', 'sync');
    const refused = refusedByOvn(name);
    nbctl('ls-del', name);
    // A trailing comment and the hundredth parenthesis are invalid only where northd adds parentheses.
    const isAlone = (match: string): boolean =>
      !isStateful && (match === 'ip4 // x' || match.startsWith('('.repeat(100)));
    const wrong = matches.filter(
      (match) => !isAlone(match) && refused.has(match) !== (checkMatch(match, 'acl-to-lport') !== undefined),
    );
    assert.deepEqual(wrong, []);
    assert.equal(refused.size, badMatches.filter((match) => !isAlone(match)).length);
  });
