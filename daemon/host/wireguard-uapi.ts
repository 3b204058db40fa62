/**
 * WireGuard in user space, by the control socket of wireguard-go: `get=1` and `set=1` with lines of `key=value`
 * (wireguard.com/xplatform, "Configuration Protocol").
 */
import { connect } from 'node:net';
import type { DeviceChange, SeenDevice, SeenPeer } from '../model/wireguard.ts';
import { Refusal } from './refusal.ts';

const timeoutMs = 3000;

/** @throws Refusal if it does not run or refuses */
export async function readUapi(socketPath: string): Promise<SeenDevice> {
  return parseDevice(await exchange(socketPath, 'get=1\n\n'));
}

/** @throws Refusal if it does not run or refuses */
export async function changeUapi(socketPath: string, change: DeviceChange): Promise<void> {
  await exchange(socketPath, formatChange(change));
}

export function formatChange({ privateKey, listenPort, peers }: DeviceChange): string {
  const lines = ['set=1'];
  if (privateKey !== undefined) lines.push(`private_key=${toHex(privateKey)}`);
  if (listenPort !== undefined) lines.push(`listen_port=${listenPort}`);
  for (const { publicKey, isRemoved, endpoint, keepaliveSeconds, allowedIps } of peers) {
    lines.push(`public_key=${toHex(publicKey)}`);
    if (isRemoved === true) {
      lines.push('remove=true');
      continue;
    }
    if (endpoint !== undefined) lines.push(`endpoint=${endpoint}`);
    if (keepaliveSeconds !== undefined) lines.push(`persistent_keepalive_interval=${keepaliveSeconds}`);
    if (allowedIps !== undefined) lines.push('replace_allowed_ips=true', ...allowedIps.map((ip) => `allowed_ip=${ip}`));
  }
  return `${lines.join('\n')}\n\n`;
}

type Open = { -readonly [K in keyof SeenPeer]: SeenPeer[K] };

export function parseDevice(text: string): SeenDevice {
  let [privateKey, listenPort] = ['', 0];
  const peers: Open[] = [];
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    const [key, value] = [line.slice(0, at), line.slice(at + 1)];
    const peer = peers.at(-1);
    if (key === 'private_key') privateKey = /^0*$/.test(value) ? '' : toBase64(value);
    else if (key === 'listen_port') listenPort = Number(value);
    else if (key === 'public_key') peers.push(newPeer(toBase64(value)));
    else if (peer !== undefined) readInto(peer, key, value);
  }
  return { privateKey, listenPort, peers };
}

function newPeer(publicKey: string): Open {
  const figures = { handshakeMs: 0, receivedBytes: 0, sentBytes: 0, keepaliveSeconds: 0 };
  return { publicKey, endpoint: '', ...figures, allowedIps: [] };
}

function readInto(peer: Open, key: string, value: string): void {
  if (key === 'endpoint') peer.endpoint = value;
  else if (key === 'last_handshake_time_sec') peer.handshakeMs = Number(value) * 1000;
  else if (key === 'rx_bytes') peer.receivedBytes = Number(value);
  else if (key === 'tx_bytes') peer.sentBytes = Number(value);
  else if (key === 'persistent_keepalive_interval') peer.keepaliveSeconds = Number(value);
  else if (key === 'allowed_ip') peer.allowedIps = [...peer.allowedIps, value];
}

function toHex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

function toBase64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}

/** The answer without its last line, which has the error number. */
function exchange(socketPath: string, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new Refusal('WireGuardDown', reason));
    };
    const socket = connect(socketPath);
    const timer = setTimeout(() => fail(`wireguard-go does not answer at ${socketPath}`), timeoutMs);
    let text = '';
    socket.setEncoding('utf8');
    socket.once('connect', () => socket.write(request));
    socket.on('data', (chunk: string) => {
      text += chunk;
      const [, body, errno] = /^([\s\S]*?)errno=(-?\d+)\n\n$/.exec(text) ?? [];
      if (body === undefined) return;
      if (errno !== '0') return fail(`wireguard-go refused its configuration: errno ${errno}`);
      clearTimeout(timer);
      socket.destroy();
      resolve(body);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      fail(`neither the kernel nor a wireguard-go at ${socketPath} provides WireGuard (${code}): start one of them`),
    );
    socket.once('close', () => fail(`wireguard-go at ${socketPath} ended a connection without an answer`));
  });
}
