import { portGroupPart } from '../plan/names.ts';

/** Under which name a Vip holds its address; no port of a pod or node can have it. */
export function vipPort(name: string): string {
  return `vip/${name}`;
}

/** Names that an IPPool's address sets may have: one for each family where it has both. */
export function addressSetsOf(pool: string): readonly [string, string] {
  const base = portGroupPart(pool);
  return [base, `${base}.v6`];
}
