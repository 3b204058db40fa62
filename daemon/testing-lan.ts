/**
 * A physical network beside a TestNode: the node's `eth1` leads to a host with a gateway's addresses, over which alone the
 * daemon reaches its API server. Callers: test/system/daemon-underlay*.test.ts only.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestCluster } from './testing-cluster.ts';
import { exec, type TestNode } from './testing.ts';

/** Where the daemon finds the API server: behind the gateway. */
export const apiAddress = '192.0.2.10';
export const gateway = '10.20.0.1';

export class TestLan {
  /** Namespace of the gateway. */
  readonly netns: string;
  readonly kubeconfig: string;
  readonly #node: TestNode;

  constructor(node: TestNode) {
    this.#node = node;
    this.netns = node.addNamespace('lan');
    this.kubeconfig = join(node.dir, 'lan-kubeconfig');
  }

  /** A cable from the node's interface `name` to the gateway's `port`. */
  addNic(name: string, port: string): void {
    exec('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', port, 'netns', this.netns);
    exec('ip', 'link', 'set', name, 'up');
    exec('ip', '-n', this.netns, 'link', 'set', port, 'up');
    // A userspace Open vSwitch reads frames as they are.
    exec('ip', 'netns', 'exec', this.netns, 'ethtool', '-K', port, 'tx', 'off');
  }

  /** Addresses and routes of every kind at `eth1`, the default route among them. */
  configure(): void {
    const ip = (...args: readonly string[]): string => exec('ip', '-n', this.netns, ...args);
    ip('addr', 'add', `${gateway}/24`, 'dev', 'p1');
    ip('addr', 'add', 'fd00:20::1/64', 'dev', 'p1', 'nodad');
    ip('addr', 'add', `${apiAddress}/32`, 'dev', 'lo');
    for (const line of [
      'addr add 10.20.0.11/24 brd + dev eth1',
      'addr add 10.20.0.12/24 dev eth1',
      'addr add 10.21.0.5/16 dev eth1 noprefixroute',
      'addr add fd00:20::11/64 dev eth1 nodad',
      'addr add fd00:20::12/64 dev eth1 nodad preferred_lft 0',
      'addr add 169.254.7.1/16 dev eth1 scope link',
      'route add 10.21.0.0/16 dev eth1 src 10.21.0.5 metric 50',
      `route add default via ${gateway} dev eth1 proto static src 10.20.0.12 metric 100`,
      `route add 198.51.100.0/24 via ${gateway} dev eth1 proto 42 mtu 1400`,
      `route add default via ${gateway} dev eth1 table 1000`,
      'route add 203.0.113.1 via 10.99.0.1 dev eth1 onlink',
      'route add default via fd00:20::1 dev eth1 metric 1024',
    ])
      exec('ip', ...(line.includes(':') ? ['-6'] : []), ...line.split(' '));
  }

  /** Forwards from behind the gateway to the API server's loopback, and writes the daemon's kubeconfig for that way. */
  leadToApi(cluster: TestCluster): void {
    const socket = join(this.#node.dir, 'api.sock');
    const port = String(cluster.apiPort);
    this.#node.start('api-near', 'socat', `UNIX-LISTEN:${socket},fork`, `TCP:127.0.0.1:${port}`);
    const listen = `TCP-LISTEN:${port},bind=${apiAddress},fork,reuseaddr`;
    this.#node.start('api-far', 'ip', 'netns', 'exec', this.netns, 'socat', listen, `UNIX-CONNECT:${socket}`);
    const config = JSON.parse(readFileSync(cluster.kubeconfig, 'utf8')) as { clusters: object[] };
    const server = `https://${apiAddress}:${port}`;
    const clusters = [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }];
    writeFileSync(this.kubeconfig, JSON.stringify({ ...config, clusters }));
  }
}

/** What an interface has and would have to keep: addresses and routes as ip(8) shows them, without the interface's name. */
export function heldBy(device: string): { readonly addresses: readonly string[]; readonly routes: readonly string[] } {
  if (!exec('ip', '-o', 'link').includes(` ${device}:`) && !exec('ip', '-o', 'link').includes(` ${device}@`))
    return nothing;
  const lines = (...args: readonly string[]): readonly string[] =>
    exec('ip', ...args)
      .split('\n')
      .map((line) => line.trim().replaceAll(` dev ${device}`, '').replaceAll(/ +/g, ' '))
      .filter((line) => line !== '');
  const addresses = lines('-o', 'addr', 'show', 'dev', device)
    .map((line) => line.replace(/^\d+: \S+ /, '').replaceAll(/ (secondary )?\S+\\.*$/g, ''))
    .filter((line) => !line.startsWith('inet6 fe80'));
  const routes = [
    ...lines('-4', 'route', 'show', 'table', 'all', 'dev', device),
    ...lines('-6', 'route', 'show', 'table', 'all', 'dev', device),
  ];
  return {
    addresses: addresses.toSorted(),
    routes: routes.filter((line) => !/^(local|broadcast|multicast|anycast|fe80)|^ff00/.test(line)).toSorted(),
  };
}

export const nothing = { addresses: [], routes: [] };
