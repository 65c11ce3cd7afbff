import type { GrpcUnary } from "../service/grpc-unary.js";
import type { ConnectHandler } from "./connect-handler.js";

/** Handles the calls of services. */
export interface Services {
  readonly grpcUnary: GrpcUnary;
  readonly connect: ConnectHandler;
}

/** The services of a listener, loaded for the first call: until then a process pays for counting only. */
export interface LazyServices {
  /** Undefined until they are loaded, and where that failed. */
  readonly current: Services | undefined;
  /** Whether a request can be handled only once they are loaded. */
  isAwaited(path: string): boolean;
  /** Loads them, unless that was done. Never rejects. */
  load(): Promise<void>;
  /** Loads them no more. */
  close(): void;
}

/**
 * Nobody may have looked by now, but the files that they are loaded from may soon be another version's: a process that runs
 * for weeks outlives what it was installed from. Loading blocks the event loop for about 40 ms, and V8 then discards code that it has
 * optimized, so it happens soon after the start, when little is optimized and few requests wait.
 */
const loadAfterMs = 2000;

export function createLazyServices(create: () => Promise<Services>): LazyServices {
  let loading: Promise<void> | undefined;
  let isReported = false;
  const load = async (): Promise<void> => {
    try {
      services.current = await create();
    } catch (error) {
      // The next call tries again. The failure is reported once: calls may come without end.
      loading = undefined;
      if (isReported) return;
      isReported = true;
      process.emitWarning(`The services of Channelz could not be loaded: ${String(error)}`, {
        type: "ChannelzWarning",
        code: "SERVICES_NOT_LOADED",
      });
    }
  };
  // V8 keeps an object literal that has a getter as a hash table, and this one is used several times for each request.
  const services: { -readonly [Key in keyof LazyServices]: LazyServices[Key] } = {
    current: undefined,
    isAwaited: (path) => services.current === undefined && isServicePath(path),
    load() {
      clearTimeout(timer);
      loading ??= load();
      return loading;
    },
    close: () => clearTimeout(timer),
  };
  const timer = setTimeout(services.load, loadAfterMs).unref();
  return services;
}

/** Calls go to `/service/method`. */
function isServicePath(path: string): boolean {
  return /^\/[^/]+\/[^/]+$/.test(path);
}
