/**
 * Under externalTrafficPolicy Local, a node that translates a connection of another node gives it a source port of these, and no other: so the
 * router of the VPC finds the replies that must return to the node that translated. They are beyond the range that Linux gives to clients.
 */
export const replyPorts = { first: 61_000, last: 65_535 } as const;
