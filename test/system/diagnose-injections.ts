/** Ways to break and repair the interconnection of a lab's clusters, east and west. */
import { createRequest, verifyRequest } from '../../lib/pki/certificate.ts';
import { issueMember } from '../../interconnect/link/certificate.ts';
import { decodeSecret, encodeSecret } from '../../lib/kube/secret-data.ts';
import { pidOf } from '../lab/component.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { run, tryRun } from '../lab/run.ts';

const table = 'faults';

/** Drops packets between the nodes of a lab in the bridge that connects them. */
export async function drop(lab: LabHandle, rules: readonly string[]): Promise<void> {
  const lines = [
    `add table bridge ${table}`,
    `add chain bridge ${table} forward { type filter hook forward priority 0; }`,
    ...rules.map((rule) => `add rule bridge ${table} forward ${rule} drop`),
  ];
  await run(['nft', '-f', '-'], { netns: lab.layout.netns, input: lines.join('\n') });
}

/** Heals the lab and lets all packets through. */
export async function mend(lab: LabHandle): Promise<void> {
  await tryRun(['nft', 'delete', 'table', 'bridge', table], { netns: lab.layout.netns });
  await signalSupervisor(lab, 'SIGCONT');
  await lab.heal();
}

export function between(lab: LabHandle, from: string, to: string): string {
  const set = (cluster: string): string =>
    lab
      .cluster(cluster)
      .nodes.map(({ address }) => address)
      .join(', ');
  return `ip saddr { ${set(from)} } ip daddr { ${set(to)} }`;
}

export function eachWay(lab: LabHandle, what: string): readonly string[] {
  return [`${between(lab, 'east', 'west')} ${what}`, `${between(lab, 'west', 'east')} ${what}`];
}

export const geneve = 'udp dport 6081';

/** While the supervisor is stopped, dead processes are not restarted. */
async function signalSupervisor(lab: LabHandle, name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const pid = pidOf({ dir: lab.layout.dir, name: 'labd' });
  if (pid !== undefined) process.kill(pid, name);
}

export async function killForGood(lab: LabHandle, place: string, component: string): Promise<void> {
  await signalSupervisor(lab, 'SIGSTOP');
  await lab.kill(place, component);
}

export async function restart(lab: LabHandle, place: string, component: string): Promise<void> {
  const pid = lab.pid(place, component);
  await lab.kill(place, component);
  await lab.waitForRestart(place, component, pid);
}

export async function freeze(lab: LabHandle, place: string, ...components: readonly string[]): Promise<void> {
  for (const component of components) process.kill(lab.pid(place, component), 'SIGSTOP');
}

export const interconnectObject = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'isthmus.network/v1alpha1',
  kind,
  metadata: { name },
  spec,
});

export function remove(lab: LabHandle, cluster: string, kind: string, name: string): Promise<unknown> {
  return lab.kubectl(cluster, ['delete', kind, name, '--ignore-not-found', '--timeout=30s']);
}

async function secretOf(lab: LabHandle, name: string): Promise<Readonly<Record<string, string>>> {
  const text = await lab.kubectl('east', ['-n', 'kube-system', 'get', 'secret', name, '-o', 'json']);
  return decodeSecret((JSON.parse(text) as { data: unknown }).data);
}

async function patchSecret(lab: LabHandle, name: string, values: Readonly<Record<string, string>>): Promise<void> {
  const patch = JSON.stringify({ data: encodeSecret(values) });
  await lab.kubectl('east', ['-n', 'kube-system', 'patch', 'secret', name, '--type=merge', '-p', patch]);
}

const identity = 'isthmus-interconnect-identity';
export const authority = 'isthmus-hub-authority';
const kept = new Map<string, Readonly<Record<string, string>>>();

export async function replaceSecret(
  lab: LabHandle,
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  kept.set(name, await secretOf(lab, name));
  await patchSecret(lab, name, values);
}

export async function restoreSecret(lab: LabHandle, name: string): Promise<void> {
  const values = kept.get(name);
  if (values !== undefined) await patchSecret(lab, name, values);
}

/** Gives east a certificate that the hub signs as if it were `days` from now. */
export async function certifyAt(lab: LabHandle, days: number): Promise<void> {
  const [own, signer] = await Promise.all([secretOf(lab, identity), secretOf(lab, authority)]);
  const request = await verifyRequest(await createRequest(own['tls.key'] ?? '', 'east'));
  if (request === undefined) throw new Error('the request of east does not verify itself');
  const hub = { key: signer['tls.key'] ?? '', certificate: signer['tls.crt'] ?? '' };
  const certificate = await issueMember(hub, request.publicKey, 'east', Date.now() + days * 86_400_000);
  await replaceSecret(lab, identity, { 'tls.crt': certificate });
  await restart(lab, 'east', 'interconnect');
}

export async function restoreIdentity(lab: LabHandle): Promise<void> {
  await restoreSecret(lab, identity);
  await restart(lab, 'east', 'interconnect');
}

export async function label(lab: LabHandle, cluster: string, value: string): Promise<void> {
  await lab.kubectl(cluster, ['label', 'nodes', 'n1', 'n2', `ovn.kubernetes.io/ic-gw${value}`, '--overwrite']);
}

export async function drain(lab: LabHandle, isDrained: boolean): Promise<void> {
  const patch = JSON.stringify({ spec: { drain: isDrained } });
  for (const node of ['n1', 'n2'])
    await lab.kubectl('east', ['patch', 'interconnectgateway', node, '--type=merge', '-p', patch]);
}

export async function openVswitch(lab: LabHandle, node: string, key: string, value: string): Promise<void> {
  await lab.vsctl('west', node, ['set', 'open_vswitch', '.', `external_ids:${key}=${value}`]);
}

export async function systemIdOf(lab: LabHandle, cluster: string, node: string): Promise<string> {
  const text = await lab.vsctl(cluster, node, ['get', 'open_vswitch', '.', 'external_ids:system-id']);
  return text.trim().replaceAll('"', '');
}
