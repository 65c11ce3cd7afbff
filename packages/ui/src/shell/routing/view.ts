/** The props of every view. */
export interface ViewProps {
  /** The path: a view with several patterns may differ by it. */
  readonly path: string;
  /** The parameters of the path: `{ kind: "channel", id: "12" }` for `/object/channel/12`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Whether the view is in the detail panel: narrow, next to another view. */
  readonly isPanel: boolean;
}
