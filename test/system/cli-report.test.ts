/** `isthmus report` with a real API server that has the chart's CRDs. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { configMaps, interconnects, pods, secrets, subnets } from '../../lib/kube/resources.ts';
import { CliBed, namespace, runProgram } from './cli-bed.ts';

describe('isthmus report', () => {
  let bed: CliBed;
  before(async () => {
    bed = await CliBed.start([interconnects, subnets]);
  });
  after(() => bed.stop());

  it('writes a report without secrets, with what it could not read', async () => {
    const metadata = { name: 'holder', namespace: 'default', labels: { app: 'db' } };
    const container = { name: 'db', image: 'db:1', env: [{ name: 'A', value: 'value-of-env' }] };
    await bed.kube.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container] } });
    await bed.kube.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'holder', namespace },
      stringData: { key: 'value-of-secret' },
    });
    await bed.kube.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'holder', namespace },
      data: { config: 'value-of-another-program' },
    });
    await bed.kube.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'isthmus-holder', namespace },
      data: { config: 'password: value-of-password\nport: 5' },
    });
    const file = join(bed.dir, 'report.tar.gz');
    const { code, out, err } = await runProgram(['report', '--file', file], bed.environment);
    assert.deepEqual([code, out], [0, `${file}\n`], err);
    const folder = join(bed.dir, 'report');
    mkdirSync(folder);
    execFileSync('tar', ['-xzf', file, '-C', folder, '--strip-components=1']);
    const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
    assert.match(read('about.txt'), /^isthmus \d/);
    assert.match(read('kubernetes-version.yaml'), /gitVersion: v1\./);
    assert.match(read('commands/status.txt'), /exit code 1\n$/);
    assert.match(read('commands/ic-status.txt'), /NotAMember/);
    assert.match(read('objects/pods.yaml'), /name: holder[\s\S]*image: db:1/);
    assert.match(read('isthmus/configmaps.yaml'), /password: \(left out\)[\s\S]*port: 5/);
    const all = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => readFileSync(join(one.parentPath, one.name), 'utf8'));
    assert.ok(all.length > 8);
    for (const text of all) assert.doesNotMatch(text, /value-of-/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const again = await runProgram(['report', '--file', file], bed.environment);
    assert.deepEqual([again.code, again.out], [1, '']);
    assert.match(again.err, /^ReportNotWritten: .* exists already/);
    const env = { ...bed.environment, KUBECONFIG: bed.kubeconfigAs('nobody') };
    const refused = await runProgram(['report', '--file', join(bed.dir, 'refused.tar.gz')], env);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /^not read: pods: .*forbidden/m);
    assert.match(execFileSync('tar', ['-tzf', join(bed.dir, 'refused.tar.gz')], { encoding: 'utf8' }), /unread\.txt/);
  });
});
