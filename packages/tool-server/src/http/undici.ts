import type { Client as ClientClass, errors as errorClasses } from "undici";
// Two files of undici in place of the whole: with fetch, caches and web sockets, which nobody here uses, it takes two to
// three times as long to load, and that is most of what a first call waits for. Its version is pinned.
// @ts-expect-error The types are those of the whole.
import errorsPart from "undici/lib/core/errors.js";
// @ts-expect-error
import clientPart from "undici/lib/dispatcher/client.js";

/** undici's client of one connection. */
export type Client = ClientClass;
export const Client: typeof ClientClass = clientPart as typeof ClientClass;

/** undici's errors. */
export const errors: typeof errorClasses = errorsPart as typeof errorClasses;
