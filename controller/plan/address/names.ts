/** Under which name a Vip holds its address; no port of a pod or node can have it. */
export function vipPort(name: string): string {
  return `vip/${name}`;
}
