export function ThreadScreen({ project }: { project: string }) {
  return <main class="screen">{project}</main>
}
