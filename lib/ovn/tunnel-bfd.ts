/** Entries of `NB_Global.options` for BFD on the tunnels between gateways: it finds a dead one in 300 ms, with OVS' defaults in three seconds. */
export const tunnelBfd = { 'bfd-min-rx': '100', 'bfd-min-tx': '100', 'bfd-mult': '3' } as const;
