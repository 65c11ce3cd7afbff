import { type AnyRecord, type Kind, nameRecord, SocketRecord } from "./records.js";

/** An object that the application dropped without closing it. */
export interface DroppedObject {
  readonly kind: Kind;
  readonly id: number;
  readonly name: string;
  /** Where it was added, as a stack; only if the registry records that. */
  readonly createdAt?: string;
}

interface WatchedHandle {
  readonly record: AnyRecord;
}

/** The warnings of one registry: one a place of creation, or one a kind where places are not remembered. */
const maxWarnings = 100;

/** How long new handles are held before they are watched, and the maximum number of them. */
const nurseryMs = 1000;
const nurserySize = 8192;
/** How many handles make it worth to look for those that are closed already. */
const minSweep = 1024;

/**
 * Notices handles that were collected while their object still lived.
 *
 * To watch an object costs more than to add it, and many are closed soon. So a new handle is first held in a nursery,
 * for at most a second, and is watched if it is still open then; until then the record also holds its subject as
 * it is. The youngest waits outside until the next comes: a handle that is closed at once never gets in. Nothing is unregistered when
 * an object is closed later: that costs more than the callback, which finds it closed and does nothing.
 */
export class DropWatch {
  readonly #finalizers: FinalizationRegistry<AnyRecord>;
  readonly #creations: Map<number, string> | undefined;
  readonly #warned = new Set<string>();
  #youngest: WatchedHandle | undefined;
  #nursery: WatchedHandle[] = [];
  #sweepAt = minSweep;
  #nurseryTimer: NodeJS.Timeout | undefined;

  constructor(
    remembersCreation: boolean,
    onDropped: ((dropped: DroppedObject) => void) | undefined,
    close: (record: AnyRecord) => void,
  ) {
    this.#creations = remembersCreation ? new Map() : undefined;
    this.#finalizers = new FinalizationRegistry((record) => {
      const createdAt = this.#creations?.get(record.id);
      this.#creations?.delete(record.id);
      if (record.lifecycle !== "live") return;
      close(record);
      const dropped: DroppedObject = {
        kind: record.kind,
        id: record.id,
        name: nameRecord(record),
        ...(createdAt !== undefined && { createdAt }),
      };
      if (onDropped !== undefined) onDropped(dropped);
      else this.#warn(dropped);
    });
  }

  /** Watches a handle from now on, and returns it. */
  watch<H extends WatchedHandle>(handle: H): H {
    if (this.#creations !== undefined) this.#creations.set(handle.record.id, captureCreation());
    if (this.#nurseryTimer === undefined) this.#startTimer();
    const older = this.#youngest;
    this.#youngest = handle;
    if (older !== undefined && this.#isOpen(older)) this.#admit(older);
    return handle;
  }

  /** Whether it is still to be watched. Where it was added is not needed any more if not. */
  #isOpen({ record }: WatchedHandle): boolean {
    if (record.lifecycle === "live") return true;
    this.#creations?.delete(record.id);
    return false;
  }

  #startTimer(): void {
    this.#nurseryTimer = setTimeout(() => this.#emptyNursery(), nurseryMs).unref();
  }

  #admit(handle: WatchedHandle): void {
    if (this.#nursery.push(handle) >= this.#sweepAt) this.#sweepNursery();
  }

  /** Lets go of the closed ones. So they are never more than the open ones, or than a few. */
  #sweepNursery(): void {
    this.#nursery = this.#nursery.filter((handle) => this.#isOpen(handle));
    if (this.#nursery.length > nurserySize) this.#emptyNursery();
    this.#sweepAt = Math.max(minSweep, 2 * this.#nursery.length);
  }

  /** Watches the open ones from now on. */
  #emptyNursery(): void {
    const grown = this.#nursery;
    if (this.#youngest !== undefined) grown.push(this.#youngest);
    this.#youngest = undefined;
    this.#nursery = [];
    this.#sweepAt = minSweep;
    clearTimeout(this.#nurseryTimer);
    this.#nurseryTimer = undefined;
    for (const handle of grown) {
      if (!this.#isOpen(handle)) continue;
      const { record } = handle;
      if (record instanceof SocketRecord) record.holdSubjectWeakly();
      this.#finalizers.register(handle, record);
    }
  }

  #warn({ kind, name, createdAt }: DroppedObject): void {
    const place = createdAt ?? kind;
    if (this.#warned.has(place) || this.#warned.size >= maxWarnings) return;
    this.#warned.add(place);
    process.emitWarning(
      `The application dropped ${name} without closing it; it was removed. Call close() when it ends. ` +
        (createdAt === undefined
          ? `More of this kind are removed without a word; create the registry with remembersCreation to see where.`
          : `It was added here:\n${createdAt}`),
      { type: "ChannelzWarning", code: "CHANNELZ_DROPPED" },
    );
  }
}

/** The stack of the application, without our own frames. */
function captureCreation(): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, captureCreation);
  const lines = (holder.stack ?? "").split("\n").slice(1);
  const own = new URL(".", import.meta.url).pathname;
  const application = lines.filter((line) => !line.includes(own) || line.includes(".test."));
  return (application.length > 0 ? application : lines).join("\n");
}
