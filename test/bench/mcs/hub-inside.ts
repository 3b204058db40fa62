/** Prints as its last line the costs of one changed endpoint with 50 and with 1,000 members. */
import { costOfEndpoint } from '../../../interconnect/hub/exports-cost.ts';

console.log(JSON.stringify([await costOfEndpoint(50), await costOfEndpoint(1000)]));
