# Runs a formula's `install` and `test` without Homebrew: homebrew.rb FORMULA ARCHIVES PREFIX
#
# Supports only the parts of Homebrew's language that our formula uses. The archive comes from ARCHIVES, by the last
# part of its address, and must have the checksum that the formula names.

require "digest"
require "fileutils"
require "open3"
require "pathname"
require "tmpdir"

FORMULA, ARCHIVES, PREFIX = ARGV.map { |word| File.expand_path(word) }

class Place < Pathname
  # `"file"`, a list of them, or `"file" => "new name"`.
  def install(*things)
    mkpath
    things.flatten.each do |thing|
      (thing.is_a?(Hash) ? thing : { thing => File.basename(thing) }).each do |from, name|
        raise "the archive has no #{from}" unless File.exist?(from)
        FileUtils.mv(from, self + name)
      end
    end
  end
end

class Formula
  class << self
    %i[desc homepage version license url sha256].each do |word|
      define_method(word) { |value = nil| value ? instance_variable_set("@#{word}", value) : instance_variable_get("@#{word}") }
    end

    def on_linux = yield
    def on_intel = yield
    def on_macos = nil
    def on_arm = nil
    def test(&block) = define_method(:tried, &block)
    def inherited(formula) = (@formula = formula)
    attr_reader :formula
  end

  PLACES = {
    bin: "bin", man1: "share/man/man1", doc: "share/doc/pdpp", bash_completion: "etc/bash_completion.d",
    zsh_completion: "share/zsh/site-functions", fish_completion: "share/fish/vendor_completions.d"
  }.each { |name, place| define_method(name) { Place.new(File.join(PREFIX, place)) } }

  def version = self.class.version

  def shell_output(command)
    out, status = Open3.capture2(command)
    raise "#{command} ends with #{status.exitstatus}" unless status.success?
    out
  end

  def assert_equal(wanted, found) = wanted == found || raise("#{found.inspect} is not #{wanted.inspect}")
  def assert_match(wanted, found) = found.match?(wanted) || raise("#{found.inspect} has no #{wanted}")
end

load FORMULA
formula = Formula.formula
archive = File.join(ARCHIVES, File.basename(formula.url))
raise "another checksum than #{archive} has" unless Digest::SHA256.file(archive).hexdigest == formula.sha256
raise "it says too little of itself" unless [formula.desc, formula.homepage, formula.version, formula.license].all?
Dir.mktmpdir do |folder|
  system("tar", "-xzf", archive, "-C", folder, "--strip-components=1", exception: true)
  Dir.chdir(folder) { formula.new.install }
end
formula.new.tried
