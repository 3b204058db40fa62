import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openOvsdb } from 'ovsdb-client';
import { startOvsdbServer } from 'ovsdb-client/testing';
import { sources } from '../../lib/ovn/generate.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { LogicalFlows } from './logical-flows.ts';

/** Remotes that change, and the warnings about them. */
function bed(remotes: readonly string[], retryMs: number) {
  const state = { remotes, onRemotes: (): void => undefined };
  const warnings: string[] = [];
  const flows = new LogicalFlows({
    remotes: () => state.remotes,
    onRemotes: (listener) => (state.onRemotes = listener),
    signal: new AbortController().signal,
    log: { info: () => undefined, warn: (fields: { err: Error }) => warnings.push(fields.err.message) } as never,
    retryMs,
  });
  return { state, warnings, flows };
}

describe('logical flows of policies', () => {
  it('are read once remotes that cannot be used have changed', async (t) => {
    const server = await startOvsdbServer({ schema: sources.southbound });
    t.after(() => server.stop());
    const writer = await openOvsdb({ remotes: [server.remote], database: 'OVN_Southbound', monitor: {} });
    t.after(() => writer.close());
    const row = (match: string, stage: string, pipeline: string, table: number) => ({
      op: 'insert' as const,
      table: 'Logical_Flow',
      row: { match, pipeline, table_id: table, priority: 0, actions: '', external_ids: { 'stage-name': stage } },
    });
    const text = '(ip4 /* NetworkPolicy shop/web ingress[0,2] allow */)';
    const results = await writer.transact([
      row(`reg0[7] == 1 && ${text}`, 'ls_out_acl', 'egress', 4),
      row('(ip /* isolation egress */)', 'ls_in_acl_after_lb_eval', 'ingress', 17),
      row('(ip4)', 'ls_out_acl', 'egress', 4),
      row(text, 'ls_in_pre_acl', 'ingress', 4),
    ]);
    const { state, warnings, flows } = bed(['nonsense'], 600_000);
    t.after(() => flows.close());
    await eventually('the failure is logged', () => warnings.length > 0);
    assert.match(warnings.join(), /nonsense/);
    assert.equal(flows.acls, undefined);
    state.remotes = [server.remote];
    state.onRemotes();
    const acls = await eventually('the database answers', () => flows.acls);
    const cookies = results.slice(0, 2).map((one) => Number.parseInt(String(one.uuid).slice(0, 8), 16));
    assert.deepEqual(
      cookies.map((cookie) => acls.get(cookie)),
      [
        {
          kind: 'NetworkPolicy',
          namespace: 'shop',
          name: 'web',
          direction: 'ingress',
          rules: [0, 2],
          verdict: 'allow',
          pipeline: 'egress',
          stage: 4,
        },
        { direction: 'egress', rules: undefined, pipeline: 'ingress', stage: 17 },
      ],
    );
    assert.equal(acls.size, 2);
    assert.equal(warnings.length, 1);
  });

  it('are tried again after a while, until they are closed', async () => {
    const { warnings, flows } = bed(['nonsense'], 5);
    await eventually('a second failure is logged', () => warnings.length > 1);
    await flows.close();
    const { length } = warnings;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(warnings.length, length);
  });
});
