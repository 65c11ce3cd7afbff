import { type AnyRecord, type Kind, nameRecord, SocketRecord } from "./records.js";

/** An object that the application dropped without closing it. */
export interface DroppedObject {
  readonly kind: Kind;
  readonly id: number;
  readonly name: string;
  /** The stack trace of its creation; only with `remembersCreation`. */
  readonly createdAt?: string;
}

interface WatchedHandle {
  readonly record: AnyRecord;
}

/** The maximum number of warnings of one registry: one per stack trace of creation, or per kind if these are not recorded. */
const maxWarnings = 100;

/** How long new handles are held before they are watched, and their maximum number. */
const nurseryMs = 1000;
const nurserySize = 8192;
/** The minimum number of handles for removing closed ones. */
const minSweep = 1024;

/**
 * Detects handles that were garbage-collected before their object was closed.
 *
 * Watching a handle costs more than adding it, and many are closed soon. So a new handle is first held in a nursery, for at most a
 * second, and is watched only if it is still open then; until then the record also refers to its subject strongly. The youngest
 * handle enters the nursery only with the next one, so a handle that is closed at once never does. Nothing is unregistered when an
 * object is closed later: that would cost more than the callback, which does nothing for a closed object.
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

  /** Whether a handle is still open. If not, removes the stack trace of its creation. */
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

  /** Removes closed handles, so that they are never much more than the open ones. */
  #sweepNursery(): void {
    this.#nursery = this.#nursery.filter((handle) => this.#isOpen(handle));
    if (this.#nursery.length > nurserySize) this.#emptyNursery();
    this.#sweepAt = Math.max(minSweep, 2 * this.#nursery.length);
  }

  /** Watches the open handles of the nursery from now on. */
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
      `The application dropped ${name} without closing it, so it was removed. Call close() when it ends. ` +
        (createdAt === undefined
          ? `Further ones of this kind are removed silently; set the registry option remembersCreation to see where they were added.`
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
