import { createRequire } from "node:module";
import type { Client as ClientClass, errors as errorClasses } from "undici";

// Two files of undici in place of the whole: with fetch, caches and web sockets, which nobody here uses, it takes two to
// three times as long to load, and that is most of what a first call waits for. Its version is pinned.
const load = createRequire(import.meta.url);

/** undici's client of one connection. */
export type Client = ClientClass;
export const Client: typeof ClientClass = load("undici/lib/dispatcher/client.js") as typeof ClientClass;

/** undici's errors. */
export const errors: typeof errorClasses = load("undici/lib/core/errors.js") as typeof errorClasses;
