/** The largest body that is read, in bytes; for a batch, the largest item. */
export const BODY_LIMIT = 64 * 1024;

/** The largest body of a batch, in bytes. */
export const BATCH_BODY_LIMIT = 4 * 1024 * 1024;
