/** What `isthmus policy why` says about a connection of a PolicyBed, compared with the model and with OVN. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ovnEnvironment } from 'ovsdb-client/testing';
import { readKubeconfig } from '../../lib/kube/config.ts';
import type { PolicyWhy } from '../../cli/plan/network-policy/why.ts';
import type { Host } from '../model/network-policies.ts';
import { runProgram, type Outcome } from './cli-bed.ts';
import type { PolicyBed, Probe } from './policy-bed.ts';

/** Runs the command with the rights of an administrator. */
export function runPolicy({ services: { controller } }: PolicyBed, ...argv: readonly string[]): Promise<Outcome> {
  const { PATH = '' } = ovnEnvironment();
  return runProgram(['policy', ...argv], { HOME: '/nonexistent', KUBECONFIG: controller.api.kubeconfig, PATH });
}

/** A kubeconfig of a user who reads all objects that answers need, and runs nothing. */
export async function readerOf({ services: { controller } }: PolicyBed): Promise<string> {
  const name = 'policy-reader';
  const rules = [
    { apiGroups: [''], resources: ['pods', 'nodes', 'namespaces'], verbs: ['get', 'list'] },
    { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['list'] },
    { apiGroups: ['policy.networking.k8s.io'], resources: ['*'], verbs: ['list'] },
  ];
  const group = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'User', name, apiGroup: group }];
  const create = (plural: string, body: object) =>
    controller.kube.request('POST', `/apis/${group}/v1/${plural}`, {
      apiVersion: `${group}/v1`,
      metadata: { name },
      ...body,
    });
  await create('clusterroles', { kind: 'ClusterRole', rules });
  await create('clusterrolebindings', {
    kind: 'ClusterRoleBinding',
    subjects,
    roleRef: { kind: 'ClusterRole', name, apiGroup: group },
  });
  const { users, ...content } = (await readKubeconfig(controller.api.kubeconfig)) as {
    readonly users: readonly { readonly user: object }[];
  };
  const file = join(controller.api.dir, `${name}.kubeconfig`);
  const impersonating = users.map((one) => ({ ...one, user: { ...one.user, as: name } }));
  writeFileSync(file, JSON.stringify({ ...content, users: impersonating }));
  return file;
}

/** What ovn-trace, which has ovn-controller's parser, says about matches that it cannot parse: a name of a group without ports is one. */
export function unparsedMatches({ services: { southbound } }: PolicyBed): readonly string[] {
  const argv = [`--db=${southbound}`, '--no-leader-only', 'ovn-default', 'inport == "cli.ops" && ip4'];
  const { status, stderr } = spawnSync('ovn-trace', argv, { encoding: 'utf8', env: ovnEnvironment() });
  assert.equal(status, 0, stderr);
  return stderr.split('\n').filter((line) => line.includes('parsing expression failed'));
}

export function nameOfHost({ namespace, name }: Host): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The objects, ovn-trace and the model, which packets are compared with, say the same about a connection. */
export async function checkAnswer(bed: PolicyBed, { connection, isAllowed }: Probe): Promise<void> {
  const { from, to, source, protocol, port } = connection;
  const ends = [nameOfHost(from), nameOfHost(to), `${port}/${protocol}`];
  const argv = ['why', ...ends, '-o', 'json', '--trace=always', '--sb', bed.services.southbound];
  const { code, out, err } = await runPolicy(bed, ...argv);
  const why = JSON.parse(out) as PolicyWhy;
  const family = why.families.find((one) => one.source === source);
  const verdict = isAllowed ? 'allowed' : 'denied';
  const said = `${argv.join(' ')}: ${out}${err}`;
  assert.equal(family?.verdict, verdict, said);
  assert.equal(family.ovn?.verdict, verdict, said);
  assert.equal(why.ovn.state, 'agrees', said);
  assert.equal(code, why.families.every((one) => one.verdict === 'allowed') ? 0 : 1, said);
}
