import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { nodeInspection } from '../model/node-inspection.ts';
import { inspectNode, usualPlaces } from './node-inspection.ts';
import { parseSockets } from './sockets.ts';

describe('the inspection of a machine', () => {
  let dir = '';
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'isthmus-look-'));
  });
  after(() => rmSync(dir, { recursive: true }));
  const write = (path: string, text: string): void => {
    mkdirSync(join(dir, path, '..'), { recursive: true });
    writeFileSync(join(dir, path), text);
  };

  it('reads modules, CNI configurations and MTU from files', async () => {
    write(
      'modules/6.1.0/modules.dep',
      'kernel/net/openvswitch/vport-geneve.ko.xz: kernel/net/openvswitch/openvswitch.ko.xz\n',
    );
    write('modules/6.1.0/modules.builtin', 'kernel/net/openvswitch/openvswitch.ko\n');
    write('cni/10-calico.conflist', '{}');
    write('cni/calico-kubeconfig', '{}');
    write('cni/01-isthmus.conflist', '{}');
    write('sys/class/net/lo/mtu', '65536\n');
    const places = {
      modules: join(dir, 'modules'),
      cni: join(dir, 'cni'),
      proc: dir,
      sys: join(dir, 'sys'),
      kernel: '6.1.0',
    };
    const look = await inspectNode(places);
    assert.deepEqual(look.modules, { openvswitch: 'loaded', vport_geneve: 'loadable', vport_vxlan: 'absent' });
    assert.deepEqual(look.cni, ['01-isthmus.conflist', '10-calico.conflist']);
    assert.equal(look.interfaces.find(({ name }) => name === 'lo')?.mtu, 65_536);
    assert.deepEqual([look.listening, look.unreadable], [[], []]);
    write('net/tcp/file', 'a folder where a file should be');
    assert.match((await inspectNode(places)).unreadable.join(), /net\/tcp: EISDIR/);
  });

  it('of this machine finds its listening sockets', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const look = await inspectNode({ ...usualPlaces, modules: '/lib/modules', cni: join(dir, 'absent') });
      const { port } = server.address() as AddressInfo;
      assert.ok(
        look.listening.some((one) => one.protocol === 'TCP' && one.port === port && one.address === '127.0.0.1'),
      );
      assert.ok(look.interfaces.some(({ name, mtu }) => name === 'lo' && mtu > 0));
      assert.deepEqual(nodeInspection.parse(JSON.parse(JSON.stringify(look))), look);
    } finally {
      server.close();
    }
  });

  it('reads the kernel’s lists of sockets', () => {
    const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
    const line = (address: string, state: string) =>
      `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 0 0 1\n`;
    const tcp = head + line('0100007F:29A9', '0A') + line('0B0200C0:C350', '01');
    assert.deepEqual(parseSockets('TCP', tcp), [{ protocol: 'TCP', port: 10_665, address: '127.0.0.1' }]);
    const any = head + line('00000000000000000000000000000000:17C1', '07');
    assert.deepEqual(parseSockets('UDP', any), [{ protocol: 'UDP', port: 6081, address: '::' }]);
    const mapped =
      head + line('0000000000000000FFFF00000B0200C0:17C1', '07') + line('B80D0120000000000000000001000000:17C1', '07');
    assert.deepEqual(
      parseSockets('UDP', mapped).map(({ address }) => address),
      ['192.0.2.11', '2001:db8::1'],
    );
  });
});
