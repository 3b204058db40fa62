import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServicesDryRun } from '../../../lib/services/dry-run.ts';
import { renderNodeServices } from '../../render/nodes/services.ts';
import { paintFor } from '../../render/paint.ts';
import { joinReports } from './services.ts';

const figures = { services: 3, frontends: 5, endpoints: 7, kubeProxy: 'iptables chain KUBE-SERVICES', more: 0 };
const denied = { code: 'ExternalIPsDenied', message: 'not served', service: 'default/web' };
const refused = { code: 'ServiceRulesRefused', message: 'nft: no' };

function report(...problems: ServicesDryRun['problems']): ServicesDryRun {
  return { ...figures, problems };
}

function textOf(
  mode: 'on' | 'dry-run' | 'off' | undefined,
  reports: Readonly<Record<string, ServicesDryRun | undefined>>,
) {
  const nodes = Object.entries(reports).map(([name, one]) => ({ name, report: one }));
  const found = joinReports({ mode, nodes });
  return { isWell: found.isWell, text: renderNodeServices(found, paintFor(false)) };
}

test('what all nodes report is printed once; differences do not prevent the changeover', () => {
  const { isWell, text } = textOf('dry-run', { n1: report(denied), n2: { ...report(denied), kubeProxy: '' } });
  assert.ok(isWell);
  assert.equal(
    text,
    `2 nodes could serve in place of kube-proxy

Differences from kube-proxy
  ExternalIPsDenied: Service default/web: not served

Nodes
  NODE   SERVICES   ADDRESSES   ENDPOINTS   KUBE-PROXY                     STATE
  n1     3          5           7           iptables chain KUBE-SERVICES   ready
  n2     3          5           7           none                           ready
`,
  );
});

test('an obstacle of one node, or a node that has not reported, is no success', () => {
  const ill = textOf('dry-run', { n1: report(refused), n2: report() });
  assert.ok(!ill.isWell);
  assert.match(ill.text, /^not every node could serve/);
  assert.match(ill.text, /ServiceRulesRefused \(n1\): nft: no/);
  const waiting = textOf('dry-run', { n1: report(), n2: undefined });
  assert.ok(!waiting.isWell);
  assert.match(waiting.text, /^1 of 2 nodes have not reported yet\n/);
});

test('without a dry run there is no success', () => {
  for (const mode of ['on', 'off', undefined] as const) assert.ok(!textOf(mode, { n1: report() }).isWell);
  assert.match(textOf('off', {}).text, /services\.nodes=dry-run/);
});
