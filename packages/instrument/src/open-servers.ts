import { Server } from "node:net";

/**
 * The servers that listen at this moment, as far as Node reports them: not those that let the process end, by
 * `unref()`.
 */
export function openServers(): Server[] {
  // There is no documented way to ask; where this one is gone, what was there before is not found.
  const { _getActiveHandles } = process as { readonly _getActiveHandles?: () => unknown[] };
  const handles = _getActiveHandles?.call(process) ?? [];
  // One that is closing is still among them.
  return handles.filter((handle): handle is Server => handle instanceof Server && handle.listening);
}
