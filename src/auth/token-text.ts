import { createHash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { TokenKind } from './token.schema.js';

/** How many random bytes a token's secret has. */
export const SECRET_BYTES = 32;

const SHAPE = /^rvl_(?:admin|user|agent|worker)_([0-9a-f]{32})_[0-9a-f]{64}([0-9a-f]{8})$/;

/**
 * A token as its holder sees it: a prefix that scanners can find, the kind, the id, the secret, and a checksum that
 * tells a mistyped token from a wrong one without asking the database.
 */
export function tokenText(kind: TokenKind, id: string, secret: Buffer): string {
  const body = `rvl_${kind}_${id.replaceAll('-', '')}_${secret.toString('hex')}`;
  return body + checksum(body);
}

/** The id in a well-formed token, or null. */
export function tokenIdIn(text: string): string | null {
  const [, id, sum] = SHAPE.exec(text) ?? [];
  if (id === undefined || sum !== checksum(text.slice(0, -8))) return null;
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** What is stored of a token. Its secret has 256 random bits, so that a plain hash cannot be guessed back. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Compares two hashes in a time that tells nothing of where they differ. */
export function sameHash(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

function checksum(body: string): string {
  return crc32(body).toString(16).padStart(8, '0');
}
