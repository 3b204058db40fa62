/**
 * How many routes of one cluster a transaction writes at most. A database server answers nothing else meanwhile: with all twenty
 * thousand of a large cluster it would not answer the probes of its clients in time.
 */
export const routesAtOnce = 2000;
