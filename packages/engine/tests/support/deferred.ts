export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
}

/** A promise that the test resolves. */
export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
